//! The model that legal texts give.

use floe_slice::model::{
    ConstValue, Definition, DefinitionKind, Exception, Interface, Primitive, Struct, Type,
};
use floe_slice::{Code, Model};

use crate::{codes, compile_text, model};

fn find<'m>(model: &'m Model, scoped: &str) -> &'m Definition {
    let id = model.find(scoped).unwrap_or_else(|| panic!("no {scoped}"));
    model.definition(id)
}

fn structure<'m>(model: &'m Model, scoped: &str) -> &'m Struct {
    match &find(model, scoped).kind {
        DefinitionKind::Struct(structure) => structure,
        other => panic!("{scoped} is {other:?}"),
    }
}

fn interface<'m>(model: &'m Model, scoped: &str) -> &'m Interface {
    match &find(model, scoped).kind {
        DefinitionKind::Interface(interface) => interface,
        other => panic!("{scoped} is {other:?}"),
    }
}

fn exception<'m>(model: &'m Model, scoped: &str) -> &'m Exception {
    match &find(model, scoped).kind {
        DefinitionKind::Exception(exception) => exception,
        other => panic!("{scoped} is {other:?}"),
    }
}

fn constant(text: &str) -> ConstValue {
    let model = model(&format!("module A {{ enum E {{ x, y }} {text} }}"));
    match &find(&model, "::A::C").kind {
        DefinitionKind::Const(constant) => constant.value.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn constants_have_their_values() {
    assert_eq!(constant("const bool C = true;"), ConstValue::Bool(true));
    assert_eq!(constant("const int C = -0x10;"), ConstValue::Integer(-16));
    assert_eq!(constant("const int C = 017;"), ConstValue::Integer(15));
    assert_eq!(
        constant("const long C = -9223372036854775808;"),
        ConstValue::Integer(i64::MIN)
    );
    assert_eq!(constant("const double C = 5;"), ConstValue::Float(5.0));
    assert_eq!(constant("const double C = .5e1F;"), ConstValue::Float(5.0));
    assert_eq!(
        constant("const float C = 0.1;"),
        ConstValue::Float(f64::from(0.1_f32))
    );
    let copied = constant("const short B = 7; const byte C = B;");
    assert_eq!(copied, ConstValue::Integer(7));
}

/// Observed: slice2cpp of Ice 3.7.8 and slice2py of Ice 3.8.3 give these values.
#[test]
fn an_octal_number_ends_before_its_first_8_or_9_with_a_warning() {
    for (number, value) in [
        ("09", 0),
        ("0128", 10),
        ("-0129", -10),
        ("-010000000000000000000009", i64::MIN),
        ("01777777777777777777779", 0x1fff_ffff_ffff_ffff),
    ] {
        let compilation = compile_text(&format!("module A {{ const long C = {number}; }}"));
        assert_eq!(codes(&compilation), [Code::AmbiguousNumber], "{number}");
        let DefinitionKind::Const(constant) = &find(&compilation.model, "::A::C").kind else {
            panic!("not a constant");
        };
        assert_eq!(constant.value, ConstValue::Integer(value), "{number}");
    }
    let compilation = compile_text("module A { enum E { a = 0128, b } class C(0129) { } }");
    let DefinitionKind::Enum(r#enum) = &find(&compilation.model, "::A::E").kind else {
        panic!("not an enum");
    };
    assert_eq!(r#enum.max_value(), 11);
    let DefinitionKind::Class(class) = &find(&compilation.model, "::A::C").kind else {
        panic!("not a class");
    };
    assert_eq!(class.compact_id, Some(10));
}

#[test]
fn strings_have_their_escapes_resolved() {
    let value = constant(r#"const string C = "\t\x41\101\u00e9\U0001f600\\\"\xc3\xa9 ü";"#);
    assert_eq!(value, ConstValue::String("\tAAé😀\\\"é ü".into()));
}

#[test]
fn enumerators_are_named_by_type_or_by_scope() {
    for written in ["y", "E::y", "A::E::y", "::A::E::y"] {
        match constant(&format!("const E C = {written};")) {
            ConstValue::Enumerator { index, .. } => assert_eq!(index, 1),
            other => panic!("{written}: {other:?}"),
        }
    }
}

#[test]
fn an_enumerator_in_the_scope_of_its_enum_has_its_value_with_a_warning() {
    for written in ["A::y", "::A::y"] {
        let text = format!("module A {{ enum E {{ x, y }} const E C = {written}; }}");
        let compilation = compile_text(&text);
        let codes: Vec<Code> = compilation.diagnostics.iter().map(|it| it.code).collect();
        assert_eq!(codes, [Code::Deprecated]);
        let DefinitionKind::Const(constant) = &find(&compilation.model, "::A::C").kind else {
            panic!("not a constant");
        };
        assert!(matches!(
            constant.value,
            ConstValue::Enumerator { index: 1, .. }
        ));
    }
}

#[test]
fn enumerators_count_on_from_the_one_before() {
    let model = model("module A { const int N = 7; enum E { a, b = 5, c, d = N, e } }");
    let DefinitionKind::Enum(r#enum) = &find(&model, "::A::E").kind else {
        panic!("not an enum");
    };
    let values: Vec<i32> = r#enum.enumerators.iter().map(|one| one.value).collect();
    assert_eq!(values, [0, 5, 6, 7, 8]);
    assert_eq!(r#enum.max_value(), 8);
}

#[test]
fn commas_without_an_enumerator_count_for_nothing() {
    let compilation = compile_text("module A { enum E { , a, , b = 7,, c, } }");
    assert_eq!(codes(&compilation), [Code::DeprecatedFeature; 3]);
    let DefinitionKind::Enum(r#enum) = &find(&compilation.model, "::A::E").kind else {
        panic!("not an enum");
    };
    let values: Vec<i32> = r#enum.enumerators.iter().map(|one| one.value).collect();
    assert_eq!(values, [0, 7, 8]);
}

#[test]
fn the_value_of_a_constant_may_be_one_of_its_name_farther_out() {
    let model =
        model("module A { const int K = 5; module B { const int K = K; const int L = K; } }");
    let DefinitionKind::Const(constant) = &find(&model, "::A::B::L").kind else {
        panic!("not a constant");
    };
    assert_eq!(constant.value, ConstValue::Integer(5));
}

#[test]
fn struct_members_keep_order_types_and_defaults() {
    let model = model(
        "module A { struct P { int x; } sequence<P> Ps; interface I { }
                    struct S { Ps ps; I* proxy; Object* any; string name = \"n\"; int \\struct; } }",
    );
    let members = &structure(&model, "::A::S").members;
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["ps", "proxy", "any", "name", "struct"]);
    assert_eq!(members[0].r#type, Type::Named(model.find("A::Ps").unwrap()));
    assert_eq!(members[1].r#type, Type::Proxy(model.find("A::I").unwrap()));
    assert_eq!(members[2].r#type, Type::ObjectProxy);
    assert_eq!(members[3].default, Some(ConstValue::String("n".into())));
    assert_eq!(members[4].r#type, Type::Primitive(Primitive::Int));
}

#[test]
fn operations_keep_everything_that_was_written() {
    let model = model(
        r#"module A { exception X { } exception Y { }
                      interface I { ["amd"] idempotent string op(int a, out long b) throws Y, X; void plain(); } }"#,
    );
    let operations = &interface(&model, "::A::I").operations;
    let op = &operations[0];
    assert!(op.is_idempotent && op.returns_data());
    assert_eq!(
        op.returns.as_ref().unwrap().r#type,
        Type::Primitive(Primitive::String)
    );
    assert_eq!(op.inputs().count(), 1);
    assert_eq!(op.outputs().next().unwrap().name, "b");
    assert_eq!(op.metadata[0].text, "amd");
    let thrown: Vec<&str> = op
        .throws
        .iter()
        .map(|id| model.definition(*id).name.as_str())
        .collect();
    assert_eq!(thrown, ["Y", "X"]);
    assert!(!operations[1].is_idempotent && !operations[1].returns_data());
}

#[test]
fn type_ids_and_all_operations_follow_multiple_inheritance() {
    let model = model(
        "module M { interface Root { void a(); } interface Left extends Root { void b(); }
                    interface Right : Root { void c(); } interface Both extends Left, Right { void d(); } }",
    );
    let both = model.find("::M::Both").unwrap();
    let names: Vec<&str> = model
        .all_operations(both)
        .iter()
        .map(|(_, operation)| operation.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(
        model.type_ids(both),
        [
            "::Ice::Object",
            "::M::Both",
            "::M::Left",
            "::M::Right",
            "::M::Root"
        ]
    );
}

#[test]
fn exceptions_know_their_base() {
    let model = model("module M { exception B { int i; } exception E extends B { int j; } }");
    let base = model.find("::M::B").unwrap();
    assert_eq!(exception(&model, "::M::E").base, Some(base));
    assert_eq!(model.derived_exceptions(base).len(), 1);
}

#[test]
fn what_a_definition_needs_complete_stands_before_it() {
    let model = model(
        "module M { interface I; interface User { void use(I* i); } exception X { }
                    interface I extends User { void op() throws X; } }",
    );
    let order: Vec<&str> = model
        .definitions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(order, ["User", "X", "I"]);
    let user = &interface(&model, "::M::User").operations[0];
    assert_eq!(
        user.parameters[0].r#type,
        Type::Proxy(model.find("::M::I").unwrap())
    );
}

#[test]
fn an_interface_that_is_only_declared_stays_incomplete() {
    let model = model("module M { interface I; struct S { I* i; } }");
    assert!(!interface(&model, "::M::I").is_complete);
}

#[test]
fn nested_modules_may_be_written_in_one() {
    let model = model("module A::B { struct S { int i; } } module A { struct T { B::S s; } }");
    let definition = find(&model, "::A::B::S");
    assert_eq!(definition.modules, ["A", "B"]);
    assert_eq!(definition.scoped, "::A::B::S");
    assert!(model.find("::A::T").is_some());
}

#[test]
fn names_behind_a_backslash_are_written_in_ascii_too() {
    for name in ["\\é", "\\x²", "\\aé"] {
        let compilation = compile_text(&format!("module M {{ struct S {{ int {name}; }} }}"));
        assert_eq!(codes(&compilation), [Code::IllegalCharacter], "{name}");
    }
}

#[test]
fn names_are_looked_up_from_the_inside_out() {
    let model = model(
        "module A { struct S { int i; }
                    module B { struct S { string s; } struct T { S inner; A::S outer; ::A::B::S same; } } }",
    );
    let members = &structure(&model, "::A::B::T").members;
    let inner = Type::Named(model.find("::A::B::S").unwrap());
    let outer = Type::Named(model.find("::A::S").unwrap());
    assert_eq!(members[0].r#type, inner);
    assert_eq!(members[1].r#type, outer);
    assert_eq!(members[2].r#type, inner);
}

#[test]
fn metadata_is_kept_at_all_levels() {
    let text = r#"[["cpp:include:x" ".h", "java:package:y"]]
        module M { ["deprecated:no"] struct S { ["cpp:a"] int i; }
                   sequence<["cpp:b"] int> Q; dictionary<["cpp:k"] int, ["cpp:v"] int> D;
                   enum E { ["cpp:e"] x } interface I { void op(["cpp:p"] int a); } }"#;
    let model = model(text);
    let texts = |all: &[floe_slice::model::Metadata]| -> Vec<String> {
        all.iter().map(|one| one.text.clone()).collect()
    };
    assert_eq!(
        texts(&model.files[0].metadata),
        ["cpp:include:x.h", "java:package:y"]
    );
    assert_eq!(texts(&find(&model, "::M::S").metadata), ["deprecated:no"]);
    assert_eq!(
        texts(&structure(&model, "::M::S").members[0].metadata),
        ["cpp:a"]
    );
    match &find(&model, "::M::Q").kind {
        DefinitionKind::Sequence(one) => assert_eq!(texts(&one.element_metadata), ["cpp:b"]),
        other => panic!("{other:?}"),
    }
    match &find(&model, "::M::D").kind {
        DefinitionKind::Dictionary(one) => {
            assert_eq!(texts(&one.key_metadata), ["cpp:k"]);
            assert_eq!(texts(&one.value_metadata), ["cpp:v"]);
        }
        other => panic!("{other:?}"),
    }
    match &find(&model, "::M::E").kind {
        DefinitionKind::Enum(one) => assert_eq!(texts(&one.enumerators[0].metadata), ["cpp:e"]),
        other => panic!("{other:?}"),
    }
    let parameter = &interface(&model, "::M::I").operations[0].parameters[0];
    assert_eq!(texts(&parameter.metadata), ["cpp:p"]);
}

#[test]
fn local_definitions_are_checked_and_left_out() {
    let compilation = compile_text(
        "module M { local exception L { int i; } struct S { int i; }
                    local interface J { void op() throws L; } sequence<S> Q; }",
    );
    assert!(!compilation.has_errors(), "{}", compilation.render());
    let model = compilation.model;
    let names: Vec<&str> = model
        .definitions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["S", "Q"]);
    match &find(&model, "::M::Q").kind {
        DefinitionKind::Sequence(sequence) => {
            assert_eq!(sequence.element, Type::Named(model.find("::M::S").unwrap()));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_model_of_a_faulty_text_holds_what_was_legal() {
    let compilation = compile_text(
        "module M { struct Bad { Nope n; int fine; } struct Good { int i; } sequence<Nope> Q; }",
    );
    assert!(compilation.has_errors());
    assert!(compilation.model.find("::M::Good").is_some());
    assert!(compilation.model.find("::M::Q").is_none());
    assert_eq!(structure(&compilation.model, "::M::Bad").members.len(), 1);
}

#[test]
fn classes_and_optionals_are_in_the_model() {
    let compilation = compile_text(
        "module M { class B(3) { int i; optional(2) string s; } class C extends B { C next; } }",
    );
    let model = &compilation.model;
    match &find(model, "::M::B").kind {
        DefinitionKind::Class(class) => {
            assert_eq!(class.compact_id, Some(3));
            assert_eq!(class.members[1].tag, Some(2));
        }
        other => panic!("{other:?}"),
    }
    match &find(model, "::M::C").kind {
        DefinitionKind::Class(class) => {
            assert_eq!(class.base, model.find("::M::B"));
            assert_eq!(
                class.members[0].r#type,
                Type::Named(model.find("::M::C").unwrap())
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_class_of_37_keeps_its_operations_and_interfaces() {
    let compilation = compile_text(
        "module M { interface I { void a(); } class B { void b(); }
                    class C extends B implements I { int x; idempotent int c(C* other); } }",
    );
    let model = &compilation.model;
    let id = model.find("::M::C").unwrap();
    let DefinitionKind::Class(class) = &model.definition(id).kind else {
        panic!("not a class");
    };
    assert_eq!(class.implements, [model.find("::M::I").unwrap()]);
    let operation = &class.operations[0];
    assert!(operation.is_idempotent);
    assert_eq!(operation.parameters[0].r#type, Type::Proxy(id));
    let all = model.all_operations(id).into_iter();
    let names: Vec<&str> = all.map(|(_, operation)| &*operation.name).collect();
    assert_eq!(names, ["b", "a", "c"]);
    let ids = ["::Ice::Object", "::M::B", "::M::C", "::M::I"];
    assert_eq!(model.type_ids(id), ids);
    assert_eq!(model.class_chain(id), [id, model.find("::M::B").unwrap()]);
}

#[test]
fn local_definitions_are_not_in_the_model() {
    let compilation = compile_text(
        "module M { class C { int i; } local interface L { void run(C c, LocalObject o); }
                    local sequence<L> Ls; local exception E { Ls all; } struct S { C c; } }",
    );
    let model = &compilation.model;
    let names: Vec<&str> = model.definitions.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["C", "S"]);
    let class = Type::Named(model.find("::M::C").unwrap());
    assert_eq!(structure(model, "::M::S").members[0].r#type, class);
    assert!(model.uses_classes(Type::Named(model.find("::M::S").unwrap())));
}

#[test]
fn what_is_never_completed_stands_last_and_says_so() {
    let compilation = compile_text("module M { class C; interface I; struct S { C c; I* i; } }");
    let model = &compilation.model;
    let names: Vec<&str> = model.definitions.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["S", "C", "I"]);
    let is_complete = |name| match &find(model, name).kind {
        DefinitionKind::Class(class) => class.is_complete,
        DefinitionKind::Interface(interface) => interface.is_complete,
        other => panic!("{other:?}"),
    };
    assert!(!is_complete("::M::C") && !is_complete("::M::I"));
}
