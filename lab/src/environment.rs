//! The machine, the compiler and the day: what a figure means nothing without.

use std::fmt::Write;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::contender::Ready;
use crate::placement::Placement;

/// Where and with what a run was made. What could not be found out reads `unknown`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Environment {
    /// Model of the processor.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Where servers and clients ran.
    pub placement: Placement,
    /// Version of the Linux kernel.
    pub kernel: String,
    /// Load averages of 1, 5 and 15 minutes at the start: near 0 if the machine was quiet.
    pub load_average: String,
    /// How Floe was compiled: `release` or `debug`.
    pub profile: &'static str,
    /// The Rust compiler.
    pub rustc: &'static str,
    /// When the run started, UTC.
    pub date: String,
    /// Contenders and the versions of their middleware.
    pub contenders: Vec<(String, String)>,
}

impl Environment {
    pub(crate) fn of_this_machine(contenders: &[Ready], placement: Placement) -> Self {
        let versions = contenders
            .iter()
            .map(|contender| (contender.name.to_owned(), contender.version.clone()));
        Self {
            cpu: cpu_model(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            placement,
            kernel: or_unknown(read("/proc/sys/kernel/osrelease").trim()),
            load_average: or_unknown(&first_words(&read("/proc/loadavg"), 3)),
            profile: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            },
            rustc: env!("FLOE_LAB_RUSTC"),
            date: utc(SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs())),
            contenders: versions.collect(),
        }
    }

    /// What makes the figures worth less.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.profile == "debug" {
            warnings.push(
                "floe was compiled without optimization: compile it with --release to measure it"
                    .to_owned(),
            );
        }
        if self.placement == Placement::Apart && self.cores < 2 {
            warnings.push(
                "there is one core for client and server alike: expect other figures and ratios \
                 than on two"
                    .to_owned(),
            );
        }
        let load: f64 = first_words(&self.load_average, 1).parse().unwrap_or(0.0);
        if load > LOAD_MAX {
            warnings.push(format!(
                "the machine was busy before the run (load {load}): trust the ratios more than the times"
            ));
        }
        warnings
    }

    pub(crate) fn to_json(&self) -> Value {
        let contenders: Map<_, _> = self
            .contenders
            .iter()
            .map(|(name, version)| (name.clone(), Value::from(version.as_str())))
            .collect();
        json!({
            "cpu": self.cpu,
            "cores": self.cores,
            "placement": self.placement.name(),
            "kernel": self.kernel,
            "load_average": self.load_average,
            "profile": self.profile,
            "rustc": self.rustc,
            "date": self.date,
            "contenders": contenders,
        })
    }

    pub(crate) fn to_text(&self) -> String {
        let Self {
            cpu,
            cores,
            placement,
            kernel,
            load_average,
            profile,
            rustc,
            date,
            ..
        } = self;
        let mut text = format!(
            "{cpu}, {cores} cores ({}), Linux {kernel}, load {load_average}\n{profile} build, {rustc}, {date}\n",
            placement.name()
        );
        for (name, version) in &self.contenders {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {version}");
        }
        text
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn or_unknown(text: &str) -> String {
    let text = if text.is_empty() { "unknown" } else { text };
    text.to_owned()
}

fn first_words(text: &str, count: usize) -> String {
    let words: Vec<_> = text.split_whitespace().take(count).collect();
    words.join(" ")
}

/// The name of the first processor; ARM kernels give none.
fn cpu_model(cpuinfo: &str) -> String {
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    or_unknown(model.map_or("", |(_, name)| name.trim()))
}

/// A time in ISO 8601.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a count of days since 1970-01-01.
///
/// Counts from 0000-03-01 in eras of 400 years, so that a leap day is the last day of its year.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// Load average above which a run is not undisturbed.
const LOAD_MAX: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_795_293_296), "2026-11-21T20:34:56Z");
    }

    #[test]
    fn the_first_processor_is_named() {
        let cpuinfo = "processor\t: 0\nmodel name\t: A 1\nprocessor\t: 1\nmodel name\t: B 2\n";
        assert_eq!(cpu_model(cpuinfo), "A 1");
        assert_eq!(cpu_model("processor : 0\n"), "unknown");
    }

    #[test]
    fn what_makes_figures_worth_less_is_warned_of() {
        let mut environment = Environment::of_this_machine(&[], Placement::Free);
        environment.profile = "release";
        environment.load_average = "0.10 1.00 2.00".to_owned();
        assert_eq!(environment.warnings(), [""; 0]);
        environment.profile = "debug";
        environment.load_average = "1.75 0.00 0.00".to_owned();
        environment.placement = Placement::Apart;
        environment.cores = 1;
        let warnings = environment.warnings();
        let [debug, one_core, load] = warnings.as_slice() else {
            panic!("expected three warnings, got {warnings:?}");
        };
        assert!(debug.contains("--release") && one_core.contains("one core"));
        assert!(load.contains("load 1.75"));
    }
}
