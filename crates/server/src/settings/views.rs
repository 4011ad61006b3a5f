//! The views of metrics of an administrative object, as a file describes them.

use std::collections::BTreeMap;

use floe_metrics::{GroupBy, MapKind, MetricsMap, MetricsView};

use super::Configuration;
use super::entry::Problem;
use super::properties::Property;

/// Views by name, as far as the file has been read. They become settings at its end.
#[derive(Debug, Default)]
pub(super) struct Views(BTreeMap<String, ViewText>);

/// A view, as far as the file has been read.
#[derive(Debug, Default)]
pub(super) struct ViewText {
    /// The first line about it.
    line: usize,
    /// The settings of all maps, if the file names no map of the view.
    pub(super) all: MapText,
    /// True if the file names maps of the view. Then the view has no others.
    has_maps: bool,
    maps: BTreeMap<&'static str, MapText>,
    /// The number of metrics objects that a map retains, unless the map has its own.
    pub(super) retained_max: Option<usize>,
    pub(super) is_disabled: bool,
}

/// A map of a view, as far as the file has been read.
#[derive(Debug, Clone, Default)]
pub(super) struct MapText {
    /// How the map groups, with its line.
    pub(super) group_by: Option<(String, usize)>,
    pub(super) retained_max: Option<usize>,
    pub(super) is_disabled: bool,
}

/// The maps of a service.
pub(super) struct Measures {
    pub(super) maps: &'static [MapKind],
    /// The service and its objects, for messages.
    pub(super) told: &'static str,
}

pub(super) const HUB: Measures = Measures {
    maps: &floe_hub::METRICS_MAPS,
    told: "a Floe hub measures its topics and its subscribers",
};

pub(super) const GATEWAY: Measures = Measures {
    maps: &floe_gateway::METRICS_MAPS,
    told: "a Floe gateway measures its sessions",
};

/// How the names of all properties begin that are about views.
pub(super) const METRICS: &str = "IceMX.Metrics.";

impl Views {
    /// The view of this name, of which this line tells.
    pub(super) fn view(&mut self, name: &str, line: usize) -> &mut ViewText {
        self.0.entry(name.to_owned()).or_insert_with(|| ViewText {
            line,
            ..ViewText::default()
        })
    }

    /// Reads a property whose name is [`METRICS`] and this.
    pub(super) fn apply(
        &mut self,
        name: &str,
        property: &Property,
        measures: &Measures,
        configuration: &mut Configuration,
    ) -> Result<(), Problem> {
        let (view, key) = name.split_once('.').unwrap_or((name, ""));
        if key.contains("Accept.") || key.contains("Reject.") {
            return Err(
                property.note("Floe cannot leave anything out of its metrics: remove the line")
            );
        }
        let view = self.view(view, property.line);
        let Some(key) = key.strip_prefix("Map.") else {
            return match key {
                "Disabled" => property.flag().map(|is_set| view.is_disabled = is_set),
                _ => view.all.apply(key, property, configuration),
            };
        };
        view.has_maps = true;
        let (map, key) = key.split_once('.').unwrap_or((key, ""));
        let mut kinds = measures.maps.iter();
        match kinds.find(|kind| kind.name == map) {
            // As in Ice, the name of a map alone says only that others are not there.
            _ if key.is_empty() => property.ignore(NO_PROPERTY, configuration),
            Some(kind) => return view.map(kind.name).apply(key, property, configuration),
            None => property.ignore(measures.told, configuration),
        }
        Ok(())
    }

    /// The settings of the views for a service that measures this.
    pub(super) fn finish(
        &self,
        measures: &Measures,
        problems: &mut Vec<Problem>,
    ) -> BTreeMap<String, MetricsView> {
        let views = self.0.iter();
        let finished = views.map(|(name, view)| (name.clone(), view.finish(measures, problems)));
        finished.collect()
    }

    /// Refuses views that no program can read, because no administrative object listens.
    pub(super) fn refuse(&self, listen: &str, problems: &mut Vec<Problem>) {
        if let Some((name, view)) = self.0.iter().next() {
            let message = format_args!("the view {name:?} cannot be read: add {listen}");
            problems.push(Problem::new(view.line, message));
        }
    }
}

/// Warns of the first view of a file of Ice that has no administrative object: no program can read any of them. Files of
/// Ice's services have views whose object is in another file, or is turned off.
pub(super) fn ignore_unread(properties: &[Property], configuration: &mut Configuration) {
    let first = properties
        .iter()
        .find(|property| property.name.starts_with(METRICS));
    if let Some(first) = first {
        let why = "no program can read views of metrics without Ice.Admin.Endpoints: add them, as the file of an icebox has them";
        first.ignore(why, configuration);
    }
}

/// Returns true if the file has an administrative object, which gives views of metrics to programs.
pub(super) fn are_read(properties: &[Property]) -> bool {
    let is_set = |name: &str| properties.iter().any(|property| property.name == name);
    is_set("Ice.Admin.Endpoints")
}

impl ViewText {
    /// Returns the settings of this map, which the view has from now on.
    pub(super) fn map(&mut self, name: &'static str) -> &mut MapText {
        self.has_maps = true;
        self.maps.entry(name).or_default()
    }

    fn finish(&self, measures: &Measures, problems: &mut Vec<Problem>) -> MetricsView {
        let mut view = MetricsView::empty();
        view.is_enabled = !self.is_disabled;
        for kind in measures.maps {
            let map = match self.has_maps {
                true => self.maps.get(kind.name),
                false => Some(&self.all),
            };
            let Some(map) = map.filter(|map| !map.is_disabled) else {
                continue;
            };
            match map.finish(kind, self) {
                Ok(map) => drop(view.maps.insert(kind.name.to_owned(), map)),
                Err(problem) => problems.push(problem),
            }
        }
        view
    }
}

impl MapText {
    /// A property of a map, or of a view for all its maps.
    fn apply(
        &mut self,
        key: &str,
        property: &Property,
        configuration: &mut Configuration,
    ) -> Result<(), Problem> {
        match key {
            "GroupBy" => self.group_by = Some((property.value.clone(), property.line)),
            "RetainDetached" => {
                let count = property.number(0, "a count")?;
                self.retained_max = Some(usize::try_from(count).unwrap_or(usize::MAX));
            }
            "Disabled" => self.is_disabled = property.flag()?,
            _ => property.ignore(NO_PROPERTY, configuration),
        }
        Ok(())
    }

    fn finish(&self, kind: &MapKind, view: &ViewText) -> Result<MetricsMap, Problem> {
        let (text, line) = match &self.group_by {
            Some((text, line)) => (text.as_str(), *line),
            None => ("id", view.line),
        };
        let group_by = GroupBy::parse(text, kind.attributes).map_err(|error| {
            let name = kind.name;
            let message = format_args!("the map {name} cannot be grouped so: {error}");
            Problem::new(line, message)
        })?;
        let mut map = MetricsMap::new(group_by);
        if let Some(retained_max) = self.retained_max.or(view.retained_max) {
            map.retained_max = retained_max;
        }
        Ok(map)
    }
}

const NO_PROPERTY: &str = "a map has the properties GroupBy, RetainDetached and Disabled";
