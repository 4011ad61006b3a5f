//! What a file says of the administrative object of a hub, and of the views of metrics that it gives.

use std::collections::BTreeMap;

use floe_hub::{AdminSettings, GroupBy, MetricsView};

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
    /// How all its maps group.
    pub(super) group_by: Option<(String, usize)>,
    /// How its map of topics groups, and that of subscribers; if either is there, the other is not
    /// unless it is, too.
    pub(super) topics: Option<(String, usize)>,
    pub(super) subscribers: Option<(String, usize)>,
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
    fn finish(self, problems: &mut Vec<Problem>) -> MetricsView {
        let mut view = MetricsView::default();
        let has_maps = self.topics.is_some() || self.subscribers.is_some();
        let all = self
            .group_by
            .unwrap_or_else(|| ("id".to_owned(), self.line));
        let of_map = |own: Option<(String, usize)>| match own {
            Some((text, line)) if text.is_empty() => Some((all.0.clone(), line)),
            None if !has_maps => Some(all.clone()),
            own => own,
        };
        let mut parsed = |map, text: Option<(String, usize)>, known| {
            let (text, line) = text?;
            let group_by = GroupBy::parse(&text, known);
            let problem = |error| {
                let message = format_args!("the map of {map} cannot be grouped so: {error}");
                problems.push(Problem::new(line, message));
            };
            group_by.map_err(problem).ok()
        };
        view.topics = parsed("topics", of_map(self.topics), GroupBy::OF_TOPICS);
        let subscribers = of_map(self.subscribers);
        view.subscribers = parsed("subscribers", subscribers, GroupBy::OF_SUBSCRIBERS);
        if let Some(retained_max) = self.retained_max {
            view.retained_max = retained_max;
        }
        view.is_enabled = !self.is_disabled;
        view
    }
}
