//! The reference of all settings and properties, as the page `docs/guides/settings.md`.

use std::fmt::Write;

use super::known_properties::{self as properties, KnownProperty};
use super::rows;
use super::setting::{Kind, Setting};

/// The reference of all settings and properties, in Markdown.
pub fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    let mut table = None;
    for setting in rows::ALL.iter() {
        let own = setting.table();
        if table != Some(own) {
            table = Some(own);
            let title = match own {
                "" => "At the top".to_owned(),
                name => format!("`[{name}]`"),
            };
            let _ = write!(page, "\n### {title}\n\n{HEAD}");
        }
        let default = match setting.default() {
            Some(default) => format!("`{default}`"),
            None => String::new(),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {default} | {} | {} |",
            setting.key_in_table(),
            setting.value(),
            setting.effect.text(),
            setting.meaning,
        );
    }
    page.push_str(PROPERTIES);
    for (title, known) in [
        ("Of an IceStorm", properties::OF_ICESTORM),
        ("Of Ice and IceSSL", properties::OF_ICE),
        ("Of metrics", properties::OF_ADMIN),
        ("Of a Glacier2", properties::OF_GLACIER2),
    ] {
        let _ = write!(page, "\n### {title}\n\n{PROPERTIES_HEAD}");
        known.iter().for_each(|property| property.write(&mut page));
    }
    page
}

impl Setting {
    /// Its table; empty for a setting that is in none.
    pub fn table(&self) -> &'static str {
        self.key.rsplit_once('.').map_or("", |(table, _)| table)
    }

    pub(super) fn key_in_table(&self) -> &'static str {
        self.key.rsplit_once('.').map_or(self.key, |(_, key)| key)
    }

    /// Returns the possible values, in words.
    pub fn value(&self) -> String {
        match self.kind() {
            Kind::Text(what) => what.to_owned(),
            Kind::Texts(what) => format!("{what}, or a list of them"),
            Kind::OneOf(names) => {
                let names: Vec<_> = names.iter().map(|name| format!("`\"{name}\"`")).collect();
                names.join(", ")
            }
            Kind::Bool => "`true` or `false`".to_owned(),
            Kind::Count => "count from 1".to_owned(),
            Kind::Number => "number from 0".to_owned(),
            Kind::Bytes => "bytes".to_owned(),
            Kind::Time(None) => "time".to_owned(),
            Kind::Time(Some(word)) => format!("time, or `\"{word}\"`"),
        }
    }
}

impl KnownProperty {
    fn write(&self, page: &mut String) {
        let setting = match self.setting {
            "" => String::new(),
            key => format!("`{key}`"),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {setting} | {} |",
            self.name, self.unit, self.default, self.note
        );
    }
}

const INTRODUCTION: &str = "# All settings

A test generates this page from the code: do not edit it. [A hub](operating.md) explains how to use the settings, and
[the gateway](gateway.md) and [access](access.md) explain theirs.

`floe config list` prints the settings of `floe.toml`, `floe config reference` prints this page, and `floe config schema` prints
the [JSON schema](../floe.schema.json) of the file, with which an editor can complete and check it.

## `floe.toml`

`floe serve --config floe.toml` reads the file. Every setting is optional. A *time* is a text with a unit: `us`, `ms`, `s`, `m`
or `h`, such as `\"500ms\"`. *Bytes* are a number, or a text with a unit, such as `\"64 KiB\"`. An *endpoint* is a text such as
`\"tcp -h 127.0.0.1 -p 10000\"`, or short `\"127.0.0.1:10000\"`. The column *reload* says whether a running hub applies a
change; otherwise the change waits for a restart, and the hub logs that it waits.
";

const HEAD: &str = "| key | value | default | reload | meaning |\n|---|---|---|---|---|\n";

const PROPERTIES: &str = "
## Properties

A file whose name does not end in `.toml` is the property file of an IceStorm or a Glacier2. Its properties mean what they mean to
Ice. The column *setting* names the setting of `floe.toml` with the same meaning; a running hub applies a change as it does for that
setting. Properties without a setting need a restart. The hub warns of properties that have no effect, and refuses those without
which more would be allowed than before.
";

const PROPERTIES_HEAD: &str =
    "| property | value | default | setting | note |\n|---|---|---|---|---|\n";
