//! What a file says of the administrative object of a hub, and of the views of metrics that it gives.

use std::collections::BTreeMap;

use floe_hub::{AdminSettings, GroupBy, MetricsMap, MetricsView};

use super::entry::Problem;

/// What has been read of it; made into settings when the whole file has been.
#[derive(Debug, Default)]
pub(super) struct Admin {
    /// Where it listens.
    pub(super) listen: Option<String>,
    /// The category of its identity.
    pub(super) instance_name: Option<String>,
    /// What the service is called.
    pub(super) service_name: Option<String>,
    views: BTreeMap<String, ViewText>,
}

/// What has been read of a view.
#[derive(Debug, Default)]
pub(super) struct ViewText {
    /// The first line about it.
    line: usize,
    /// What its maps are like, unless it says which maps it has.
    pub(super) all: MapText,
    /// True if it says which maps it has: then it has no others.
    pub(super) has_maps: bool,
    pub(super) topics: Option<MapText>,
    pub(super) subscribers: Option<MapText>,
    /// What each map retains that does not say it.
    pub(super) retained_max: Option<usize>,
    pub(super) is_disabled: bool,
}

/// What has been read of a map of a view.
#[derive(Debug, Clone, Default)]
pub(super) struct MapText {
    /// How it groups, and the line that says so.
    pub(super) group_by: Option<(String, usize)>,
    pub(super) retained_max: Option<usize>,
    pub(super) is_disabled: bool,
}

impl Admin {
    /// The view of this name, of which this line tells.
    pub(super) fn view(&mut self, name: &str, line: usize) -> &mut ViewText {
        self.views
            .entry(name.to_owned())
            .or_insert_with(|| ViewText {
                line,
                ..ViewText::default()
            })
    }

    /// The settings, if there are any. What is wrong with them goes to `problems`; `listen` is what
    /// the file calls the endpoint.
    pub(super) fn finish(self, listen: &str, problems: &mut Vec<Problem>) -> Option<AdminSettings> {
        let Some(endpoint) = self.listen else {
            if let Some((name, view)) = self.views.iter().next() {
                let message = format_args!("the view {name:?} cannot be read: add {listen}");
                problems.push(Problem::new(view.line, message));
            }
            return None;
        };
        let mut settings = AdminSettings::new(endpoint);
        if let Some(name) = self.instance_name {
            settings.instance_name = name;
        }
        if let Some(name) = self.service_name {
            settings.service_name = name;
        }
        for (name, text) in self.views {
            settings.views.insert(name, text.finish(problems));
        }
        Some(settings)
    }
}

impl ViewText {
    /// What is said of its topics.
    pub(super) fn topics(&mut self) -> &mut MapText {
        self.has_maps = true;
        self.topics.get_or_insert_default()
    }

    /// What is said of its subscribers.
    pub(super) fn subscribers(&mut self) -> &mut MapText {
        self.has_maps = true;
        self.subscribers.get_or_insert_default()
    }

    fn finish(mut self, problems: &mut Vec<Problem>) -> MetricsView {
        if !self.has_maps {
            self.topics = Some(self.all.clone());
            self.subscribers = Some(self.all);
        }
        let mut finished = |name, map: Option<MapText>, known| {
            let map = map.filter(|map| !map.is_disabled)?;
            let by_id = || ("id".to_owned(), self.line);
            let (text, line) = map.group_by.unwrap_or_else(by_id);
            let group_by = GroupBy::parse(&text, known).map_err(|error| {
                let message = format_args!("the map of {name} cannot be grouped so: {error}");
                problems.push(Problem::new(line, message));
            });
            let mut finished = MetricsMap::new(group_by.ok()?);
            if let Some(retained_max) = map.retained_max.or(self.retained_max) {
                finished.retained_max = retained_max;
            }
            Some(finished)
        };
        let mut view = MetricsView::default();
        view.topics = finished("topics", self.topics, GroupBy::OF_TOPICS);
        view.subscribers = finished("subscribers", self.subscribers, GroupBy::OF_SUBSCRIBERS);
        view.is_enabled = !self.is_disabled;
        view
    }
}
