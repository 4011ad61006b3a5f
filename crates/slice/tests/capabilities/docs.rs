//! Doc comments.

use floe_slice::model::DefinitionKind;

use crate::model;

const TEXT: &str = "
/// Not of the module.
module M
{
    /**
     * A greeter.
     *
     * Says hello.
     **/
    [\"deprecated\"]
    interface Greeter
    {
        /// Greets.
        ///
        /// @param name whom to greet,
        ///     by first name
        /// @param count how often
        /// @return what was said
        string greet(string name, /** as declared */ int count);
        // plain
        void other();
    }
    struct S
    {
        /** First. */ int a;
        int b;
        [\"cpp:x\"] /// Third.
        int c;
    }
    enum E
    {
        /// Red.
        red,
        green,
        /** Blue. */ blue
    }
    /// forgotten
    /** The last one counts. */
    const int N = 5;
}";

#[test]
fn doc_comments_belong_to_what_follows() {
    let model = model(TEXT);
    let docs: Vec<_> = model
        .definitions
        .iter()
        .map(|one| one.doc.as_deref())
        .collect();
    assert_eq!(
        docs,
        [
            Some("A greeter.\n\nSays hello."),
            None,
            None,
            Some("The last one counts.")
        ]
    );
}

#[test]
fn members_and_enumerators_have_docs() {
    let model = model(TEXT);
    let DefinitionKind::Struct(structure) = &model.definitions[1].kind else {
        panic!("not a struct");
    };
    let docs: Vec<_> = structure.members.iter().map(|m| m.doc.as_deref()).collect();
    assert_eq!(docs, [Some("First."), None, Some("Third.")]);
    let DefinitionKind::Enum(r#enum) = &model.definitions[2].kind else {
        panic!("not an enum");
    };
    let docs: Vec<_> = r#enum
        .enumerators
        .iter()
        .map(|e| e.doc.as_deref())
        .collect();
    assert_eq!(docs, [Some("Red."), None, Some("Blue.")]);
}

#[test]
fn parameters_get_their_part_of_the_operations_doc() {
    let model = model(TEXT);
    let DefinitionKind::Interface(interface) = &model.definitions[0].kind else {
        panic!("not an interface");
    };
    let greet = &interface.operations[0];
    assert_eq!(
        greet.doc.as_deref(),
        Some("Greets.\n\n@return what was said")
    );
    let docs: Vec<_> = greet.parameters.iter().map(|p| p.doc.as_deref()).collect();
    assert_eq!(
        docs,
        [Some("whom to greet,\nby first name"), Some("as declared")]
    );
    assert_eq!(interface.operations[1].doc, None);
}
