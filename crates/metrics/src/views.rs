//! The views of a program at work. They are measured when a program reads them. An object that comes and goes between two
//! reads is not measured.

use std::collections::BTreeMap;
use std::time::Instant;

use tokio::sync::{Mutex, MutexGuard};

use crate::answer::{Pace, STEP};
use crate::core::{GroupMetrics, GroupedMetrics, MetricsReading};
use crate::settings::MetricsView;
use crate::source::MetricsSource;

/// The views of a program.
pub(crate) struct Views<S: MetricsSource> {
    /// The lock is held for a reading, which takes many steps if there are many objects, and until its answer is made.
    views: Mutex<BTreeMap<String, ViewState<S>>>,
}

/// A view, with its maps if it is enabled.
struct ViewState<S: MetricsSource> {
    settings: MetricsView,
    maps: Option<Maps<S>>,
}

/// The maps of a view, each at its position in [`MetricsSource::MAPS`].
struct Maps<S: MetricsSource>(Vec<Option<GroupedMetrics<S::Object>>>);

/// The results of a view: the groups of each map that it has, at its position in [`MetricsSource::MAPS`].
pub(crate) type ViewMetrics = Vec<Option<Vec<GroupMetrics>>>;

/// The program has no such view.
#[derive(Debug)]
pub(crate) struct NoSuchView;

/// Held until the answer to a reading is made. Answers are made one at a time, so that many readers do not need much
/// memory.
pub(crate) struct Turn<'a, S: MetricsSource>(
    #[expect(dead_code, reason = "it is held")] MutexGuard<'a, BTreeMap<String, ViewState<S>>>,
);

impl<S: MetricsSource> Views<S> {
    /// The views that these settings define. In enabled views, everything that is counted so far counts.
    pub(crate) fn new(settings: &BTreeMap<String, MetricsView>) -> Self {
        let view = |(name, settings): (&String, &MetricsView)| {
            let view = ViewState {
                settings: settings.clone(),
                maps: settings.is_enabled.then(|| Maps::new(settings)),
            };
            (name.clone(), view)
        };
        Self {
            views: Mutex::new(settings.iter().map(view).collect()),
        }
    }

    /// The names of the enabled views, and of the disabled ones.
    pub(crate) async fn names(&self) -> (Vec<String>, Vec<String>) {
        let views = self.views.lock().await;
        let names_of = |is_enabled: bool| {
            let named = views
                .iter()
                .filter(|(_, view)| view.maps.is_some() == is_enabled);
            named.map(|(name, _)| name.clone()).collect()
        };
        (names_of(true), names_of(false))
    }

    /// Enables a view: it measures from now on.
    pub(crate) async fn enable(&self, name: &str, source: &S) -> Result<(), NoSuchView> {
        let mut views = self.views.lock().await;
        let view = views.get_mut(name).ok_or(NoSuchView)?;
        if view.maps.is_none() {
            let mut maps = Maps::new(&view.settings);
            maps.start_with(source, Instant::now()).await;
            view.maps = Some(maps);
        }
        Ok(())
    }

    /// Disables a view: it forgets what it has measured.
    pub(crate) async fn disable(&self, name: &str) -> Result<(), NoSuchView> {
        let mut views = self.views.lock().await;
        views.get_mut(name).ok_or(NoSuchView)?.maps = None;
        Ok(())
    }

    /// Returns the results of a view; nothing if it is disabled. If there are many objects, other tasks run in between.
    /// The caller keeps the returned turn until the answer is made.
    pub(crate) async fn read(
        &self,
        name: &str,
        source: &S,
    ) -> Result<(ViewMetrics, Turn<'_, S>), NoSuchView> {
        let mut views = self.views.lock().await;
        let view = views.get_mut(name).ok_or(NoSuchView)?;
        let metrics = match &mut view.maps {
            Some(maps) => maps.read(source, Instant::now()).await,
            None => Vec::new(),
        };
        Ok((metrics, Turn(views)))
    }
}

impl<S: MetricsSource> Maps<S> {
    fn new(settings: &MetricsView) -> Self {
        let map = |name| {
            let map = settings.maps.get(name)?;
            Some(GroupedMetrics::new(map.group_by.clone(), map.retained_max))
        };
        Self(S::MAPS.iter().map(|kind| map(kind.name)).collect())
    }

    /// Subtracts what all objects have counted so far.
    async fn start_with(&mut self, source: &S, now: Instant) {
        let mut pace = Pace::default();
        for (position, object) in source.objects() {
            if let Some(map) = self.at(position) {
                map.start_with(object, now);
            }
            pace.pause(MEASURE_COST).await;
        }
    }

    async fn read(&mut self, source: &S, now: Instant) -> ViewMetrics {
        let mut pace = Pace::default();
        let begun = self
            .0
            .iter_mut()
            .map(|map| Some(map.as_mut()?.begin_reading()));
        let readings: Vec<Option<MetricsReading>> = begun.collect();
        for (position, object) in source.objects() {
            if let Some(map) = self.at(position) {
                map.see(object, now);
            }
            pace.pause(MEASURE_COST).await;
        }
        let mut metrics = Vec::new();
        for (map, reading) in self.0.iter_mut().zip(readings) {
            let Some((map, mut reading)) = map.as_mut().zip(reading) else {
                metrics.push(None);
                continue;
            };
            while map.go_on(&mut reading, STEP, now) {
                pace.pause(STEP * MEASURE_COST).await;
            }
            metrics.push(Some(reading.finish()));
        }
        metrics
    }

    fn at(&mut self, position: usize) -> Option<&mut GroupedMetrics<S::Object>> {
        self.0.get_mut(position)?.as_mut()
    }
}

/// A measurement makes texts and looks them up in maps, so it takes as long as this many looks.
const MEASURE_COST: usize = 8;

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use floe::classes::Link;
    use floe::{Current, InvokeError};

    use super::*;
    use crate::contracts::ice_mx::Metrics;
    use crate::core::{GroupBy, Measured, Values};
    use crate::settings::{MapKind, MetricsMap};
    use crate::source::Request;

    struct Numbered(usize);

    impl Measured for Numbered {
        fn number(&self) -> usize {
            self.0
        }

        fn counts(&self) -> Values {
            [1, 0, 0, 0]
        }

        fn amounts(&self) -> Values {
            Values::default()
        }

        fn attribute(&self, _name: &str) -> String {
            self.0.to_string()
        }
    }

    /// This many objects, alternately in two maps.
    struct Many(usize);

    impl MetricsSource for Many {
        type Object = Numbered;

        const MAPS: &'static [MapKind] = &[
            MapKind {
                name: "Even",
                attributes: &["id"],
            },
            MapKind {
                name: "Odd",
                attributes: &["id"],
            },
        ];

        fn objects(&self) -> impl Iterator<Item = (usize, Numbered)> + Send {
            (0..self.0).map(|number| (number % 2, Numbered(number)))
        }

        fn metrics(_map: usize, group: GroupMetrics) -> Link<Metrics> {
            Link::new(Metrics::from(group))
        }

        fn check(&self, _current: &Current, _request: Request) -> Result<(), InvokeError> {
            Ok(())
        }
    }

    /// Runs a task to its end. Returns its result, and how many times it let other tasks run.
    async fn pauses<T>(task: impl Future<Output = T>) -> (T, usize) {
        let (mut task, mut count) = (pin!(task), 0);
        let result = poll_fn(|context| {
            let polled = task.as_mut().poll(context);
            count += usize::from(polled.is_pending());
            polled
        });
        (result.await, count)
    }

    fn views(mut view: MetricsView) -> Views<Many> {
        view.is_enabled = false;
        Views::new(&[("v".to_owned(), view)].into())
    }

    #[tokio::test]
    async fn other_tasks_run_while_a_view_of_many_objects_is_enabled_and_read() {
        let views = views(MetricsView::by_id(Many::MAPS));
        let many = Many(2_000);
        let (enabled, count) = pauses(views.enable("v", &many)).await;
        enabled.expect("there is the view");
        assert!(count >= 2, "{count}");
        let (read, count) = pauses(views.read("v", &many)).await;
        // All objects are seen, then added up, then reported by group.
        assert!(count >= 4, "{count}");
        let (metrics, _turn) = read.expect("there is the view");
        let present = metrics.into_iter().map(|groups| {
            let groups = groups.expect("the view has the map").into_iter();
            groups.map(|group| group.current).sum::<u64>()
        });
        assert_eq!(present.collect::<Vec<_>>(), [1_000, 1_000]);
    }

    #[tokio::test]
    async fn a_view_measures_the_maps_that_it_has_from_the_moment_of_its_enabling() {
        let mut view = MetricsView::empty();
        let group_by = GroupBy::parse("id", &["id"]).unwrap();
        view.maps
            .insert("Odd".to_owned(), MetricsMap::new(group_by));
        let views = views(view);
        assert!(views.read("v", &Many(2)).await.unwrap().0.is_empty());
        views.enable("v", &Many(2)).await.unwrap();
        assert_eq!(views.names().await, (vec!["v".to_owned()], vec![]));
        let (metrics, turn) = views.read("v", &Many(4)).await.unwrap();
        drop(turn);
        let [None, Some(odd)] = metrics.as_slice() else {
            panic!("expected one map, got {metrics:?}");
        };
        // The first was there before.
        let counts = odd.iter().map(|group| (group.id.as_str(), group.counts[0]));
        assert_eq!(counts.collect::<Vec<_>>(), [("1", 0), ("3", 1)]);
        views.disable("v").await.unwrap();
        assert!(views.read("v", &Many(4)).await.unwrap().0.is_empty());
        assert!(views.read("w", &Many(4)).await.is_err());
    }
}
