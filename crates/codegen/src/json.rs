//! A model as JSON, for tools that are not written in Rust.

use floe_slice::model::{
    Class, Const, ConstValue, Definition, DefinitionId, DefinitionKind, Enum, Exception, Interface,
    Member, Metadata, Model, Operation, Parameter, Type,
};
use serde_json::{Map, Value, json};

/// The model as indented JSON text.
///
/// ```text
/// { "files":       [ { "path": "Greeter.ice", "main": true, "metadata": ["cpp:include:list"] } ],
///   "definitions": [ DEFINITION ] }
///
/// every DEFINITION   "kind", "name" (scoped: "::Demo::Item"), "file" (index into files)
/// const              "type", "value"
/// enum               "enumerators": [ { "name", "value" } ]
/// struct             "members": [ MEMBER ]
/// sequence           "element": TYPE
/// dictionary         "key": TYPE, "value": TYPE
/// exception, class   "base": "::Demo::Base" or null, "members": [ MEMBER ];
///                    class: "compactId" if it has one, "complete"; of Ice 3.7 also "implements"
///                    (a list of names) and "operations" if there are any
/// interface          "bases": [ "::Demo::Base" ], "complete": true,
///                    "operations": [ { "name", "idempotent", "returns": TYPE or null, "returnTag",
///                                      "parameters": [ { "name", "type", "out", "tag" } ],
///                                      "throws": [ "::Demo::Rejected" ] } ]
/// MEMBER             "name", "type", "tag" if it is optional, "default" if it has one
/// TYPE               "int", "string", ..., "::Demo::Item", "::Demo::Greeter*", "Object*", "Object"
/// ```
///
/// Whatever can have metadata or a doc comment has "metadata" (a list of strings) and "doc" (a
/// string) if there are any. An enumerator as a value is its scoped name, `"::Demo::Color::red"`;
/// floating-point values that JSON lacks are the strings `"nan"`, `"inf"`, `"-inf"`.
pub fn model_json(model: &Model) -> String {
    let files: Vec<Value> = model
        .files
        .iter()
        .map(|file| {
            let mut object = Map::new();
            object.insert("path".into(), json!(file.path.display().to_string()));
            object.insert("main".into(), json!(file.is_main));
            annotate(&mut object, &file.metadata, None);
            Value::Object(object)
        })
        .collect();
    let definitions: Vec<Value> = model
        .definitions
        .iter()
        .map(|definition| Shape { model }.definition(definition))
        .collect();
    let value = json!({ "files": files, "definitions": definitions });
    serde_json::to_string_pretty(&value).expect("a JSON value has a text")
}

struct Shape<'a> {
    model: &'a Model,
}

impl Shape<'_> {
    fn definition(&self, definition: &Definition) -> Value {
        let (kind, content) = match &definition.kind {
            DefinitionKind::Const(of) => ("const", self.constant(of)),
            DefinitionKind::Enum(of) => ("enum", enumeration(of)),
            DefinitionKind::Struct(of) => {
                ("struct", json!({ "members": self.members(&of.members) }))
            }
            DefinitionKind::Sequence(of) => {
                ("sequence", json!({ "element": self.r#type(of.element) }))
            }
            DefinitionKind::Dictionary(of) => (
                "dictionary",
                json!({ "key": self.r#type(of.key), "value": self.r#type(of.value) }),
            ),
            DefinitionKind::Exception(of) => ("exception", self.exception(of)),
            DefinitionKind::Interface(of) => ("interface", self.interface(of)),
            DefinitionKind::Class(of) => ("class", self.class(of)),
            _ => ("unknown", json!({})),
        };
        let mut object = Map::new();
        object.insert("kind".into(), json!(kind));
        object.insert("name".into(), json!(definition.scoped));
        object.insert("file".into(), json!(definition.file.0));
        if let Value::Object(content) = content {
            object.extend(content);
        }
        annotate(&mut object, &definition.metadata, definition.doc.as_deref());
        Value::Object(object)
    }

    fn constant(&self, of: &Const) -> Value {
        json!({ "type": self.r#type(of.r#type), "value": self.value(&of.value) })
    }

    fn members(&self, members: &[Member]) -> Vec<Value> {
        members.iter().map(|member| self.member(member)).collect()
    }

    fn member(&self, member: &Member) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), json!(member.name));
        object.insert("type".into(), json!(self.r#type(member.r#type)));
        if let Some(tag) = member.tag {
            object.insert("tag".into(), json!(tag));
        }
        if let Some(default) = &member.default {
            object.insert("default".into(), self.value(default));
        }
        annotate(&mut object, &member.metadata, member.doc.as_deref());
        Value::Object(object)
    }

    fn exception(&self, of: &Exception) -> Value {
        json!({ "base": self.base(of.base), "members": self.members(&of.members) })
    }

    fn class(&self, of: &Class) -> Value {
        let mut object = Map::new();
        if let Some(id) = of.compact_id {
            object.insert("compactId".into(), json!(id));
        }
        object.insert("base".into(), self.base(of.base));
        object.insert("complete".into(), json!(of.is_complete));
        object.insert("members".into(), json!(self.members(&of.members)));
        if !of.implements.is_empty() {
            object.insert("implements".into(), json!(self.names(&of.implements)));
        }
        if !of.operations.is_empty() {
            let operations = of.operations.iter().map(|it| self.operation(it));
            object.insert("operations".into(), operations.collect());
        }
        Value::Object(object)
    }

    fn interface(&self, of: &Interface) -> Value {
        let operations: Vec<Value> = of.operations.iter().map(|it| self.operation(it)).collect();
        json!({
            "bases": self.names(&of.bases),
            "complete": of.is_complete,
            "operations": operations,
        })
    }

    fn operation(&self, operation: &Operation) -> Value {
        let returns = operation.returns.as_ref();
        let mut object = Map::new();
        object.insert("name".into(), json!(operation.name));
        object.insert("idempotent".into(), json!(operation.is_idempotent));
        let r#type = returns.map(|returned| self.r#type(returned.r#type));
        object.insert("returns".into(), json!(r#type));
        if let Some(tag) = returns.and_then(|returned| returned.tag) {
            object.insert("returnTag".into(), json!(tag));
        }
        let parameters = operation.parameters.iter().map(|it| self.parameter(it));
        object.insert("parameters".into(), parameters.collect());
        object.insert("throws".into(), json!(self.names(&operation.throws)));
        annotate(&mut object, &operation.metadata, operation.doc.as_deref());
        Value::Object(object)
    }

    fn parameter(&self, parameter: &Parameter) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), json!(parameter.name));
        object.insert("type".into(), json!(self.r#type(parameter.r#type)));
        object.insert("out".into(), json!(parameter.is_out));
        if let Some(tag) = parameter.tag {
            object.insert("tag".into(), json!(tag));
        }
        annotate(&mut object, &parameter.metadata, parameter.doc.as_deref());
        Value::Object(object)
    }

    fn r#type(&self, r#type: Type) -> String {
        match r#type {
            Type::Primitive(primitive) => primitive.keyword().to_owned(),
            Type::ObjectProxy => "Object*".to_owned(),
            Type::Named(id) => self.name(id).to_owned(),
            Type::Proxy(id) => format!("{}*", self.name(id)),
            _ => "Object".to_owned(),
        }
    }

    fn value(&self, value: &ConstValue) -> Value {
        match value {
            ConstValue::Bool(value) => json!(value),
            ConstValue::Integer(value) => json!(value),
            ConstValue::Float(value) if value.is_nan() => json!("nan"),
            ConstValue::Float(f64::INFINITY) => json!("inf"),
            ConstValue::Float(f64::NEG_INFINITY) => json!("-inf"),
            ConstValue::Float(value) => json!(value),
            ConstValue::String(text) => json!(text),
            ConstValue::Enumerator { of, index } => {
                let definition = self.model.definition(*of);
                let enumerator = match &definition.kind {
                    DefinitionKind::Enum(of) => of.enumerators[*index].name.as_str(),
                    _ => "",
                };
                json!(format!("{}::{enumerator}", definition.scoped))
            }
        }
    }

    fn base(&self, base: Option<DefinitionId>) -> Value {
        json!(base.map(|id| self.name(id)))
    }

    fn names(&self, ids: &[DefinitionId]) -> Vec<&str> {
        ids.iter().map(|id| self.name(*id)).collect()
    }

    fn name(&self, id: DefinitionId) -> &str {
        &self.model.definition(id).scoped
    }
}

fn enumeration(of: &Enum) -> Value {
    let enumerators: Vec<Value> = of
        .enumerators
        .iter()
        .map(|enumerator| {
            let mut object = Map::new();
            object.insert("name".into(), json!(enumerator.name));
            object.insert("value".into(), json!(enumerator.value));
            annotate(&mut object, &enumerator.metadata, enumerator.doc.as_deref());
            Value::Object(object)
        })
        .collect();
    json!({ "enumerators": enumerators })
}

fn annotate(object: &mut Map<String, Value>, metadata: &[Metadata], doc: Option<&str>) {
    if !metadata.is_empty() {
        let texts: Vec<&str> = metadata.iter().map(|it| it.text.as_str()).collect();
        object.insert("metadata".into(), json!(texts));
    }
    if let Some(doc) = doc {
        object.insert("doc".into(), json!(doc));
    }
}

#[cfg(test)]
mod tests {
    use floe_slice::check_source;
    use serde_json::{Value, json};

    use super::model_json;

    #[test]
    fn a_model_has_the_documented_shape() {
        let compilation = check_source(
            b"module Demo {
                enum Color { red, green = 5 }
                /** A thing. */
                [\"deprecated:old\"] struct Item { string name; Color color = Color::green; }
                exception Base { }
                exception Rejected extends Base { string reason; }
                interface Shop { idempotent Item find(string name, out Object* seller) throws Rejected; }
                class Root { Object any; }
                class Later;
                class Node(3) extends Root implements Shop
                {
                    Later later;
                    optional(7) int size = 2;
                    optional(4) Node next(optional(5) Node after);
                }
            }",
        );
        let value: Value = serde_json::from_str(&model_json(&compilation.model)).unwrap();
        let named = |name: &str| {
            let definitions = value["definitions"].as_array().unwrap();
            definitions
                .iter()
                .find(|it| it["name"] == name)
                .unwrap()
                .clone()
        };
        let node = named("::Demo::Node");
        assert_eq!(node["kind"], "class");
        assert_eq!(
            (&node["compactId"], &node["base"]),
            (&json!(3), &json!("::Demo::Root"))
        );
        assert_eq!(node["members"][1]["tag"], 7);
        assert_eq!(node["members"][1]["default"], 2);
        assert_eq!(node["implements"][0], "::Demo::Shop");
        assert_eq!(node["operations"][0]["returnTag"], 4);
        assert_eq!(node["operations"][0]["parameters"][0]["tag"], 5);
        assert_eq!(named("::Demo::Root")["members"][0]["type"], "Object");
        assert_eq!(named("::Demo::Later")["complete"], false);
        let item = named("::Demo::Item");
        assert_eq!(item["kind"], "struct");
        assert_eq!(item["doc"], "A thing.");
        assert_eq!(item["metadata"][0], "deprecated:old");
        assert_eq!(item["members"][1]["type"], "::Demo::Color");
        assert_eq!(item["members"][1]["default"], "::Demo::Color::green");
        assert_eq!(named("::Demo::Rejected")["base"], "::Demo::Base");
        assert_eq!(named("::Demo::Color")["enumerators"][1]["value"], 5);
        let find = &named("::Demo::Shop")["operations"][0];
        assert_eq!(find["returns"], "::Demo::Item");
        assert_eq!(find["parameters"][1]["type"], "Object*");
        assert_eq!(find["parameters"][1]["out"], true);
        assert_eq!(find["throws"][0], "::Demo::Rejected");
        assert_eq!(value["files"][0]["main"], true);
    }
}
