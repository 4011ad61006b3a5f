//! The environment of a run: the machine, the compiler and the date, without which its figures mean nothing.

use std::fmt::Write;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::contender::Ready;
use crate::disturbance::{Disturbance, busy_cores};
use crate::placement::Placement;
use crate::report::Object;

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
    /// True if a spinner of idle priority kept each core awake.
    pub is_awake: bool,
    /// Version of the Linux kernel.
    pub kernel: String,
    /// Load averages of 1, 5 and 15 minutes at the start: also what ran a while ago counts.
    pub load_average: String,
    /// How many cores were busy in the moment before the run: near 0 if the machine was quiet.
    pub busy_cores: f64,
    /// The disturbances of each round.
    pub(crate) disturbances: Vec<Disturbance>,
    /// The cargo profile that Floe was compiled with: `release`, `dist` or `debug`. Figures of `release` are those that a
    /// user has.
    pub profile: String,
    /// The Rust compiler.
    pub rustc: String,
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
            is_awake: false,
            kernel: or_unknown(read("/proc/sys/kernel/osrelease").trim()),
            load_average: or_unknown(&first_words(&read("/proc/loadavg"), 3)),
            busy_cores: busy_cores(BUSY_TIME),
            disturbances: Vec::new(),
            profile: env!("FLOE_LAB_PROFILE").to_owned(),
            rustc: env!("FLOE_LAB_RUSTC").to_owned(),
            date: utc(SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs())),
            contenders: versions.collect(),
        }
    }

    /// Returns warnings about things that make the figures worth less.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        match self.profile.as_str() {
            "release" => {}
            "debug" => warnings.push(
                "floe was compiled without optimization: compile it with --release to measure it"
                    .to_owned(),
            ),
            other => warnings.push(format!(
                "floe was compiled with the profile `{other}`: users have the figures of `release`"
            )),
        }
        if self.placement == Placement::Apart && self.cores < 2 {
            warnings.push(
                "there is one core for client and server alike: expect other figures and ratios \
                 than on two"
                    .to_owned(),
            );
        }
        let busy_cores = self.busy_cores;
        if busy_cores > BUSY_CORES_MAX {
            warnings.push(format!(
                "the machine was busy before the run ({busy_cores:.1} cores): trust the ratios more than \
                 the times"
            ));
        }
        warnings
    }

    /// Returns notes on the disturbances that made figures worth less during the run.
    pub(crate) fn disturbed(&self) -> Vec<String> {
        let all = &self.disturbances;
        let (total, most) = (all.len(), |of: fn(&Disturbance) -> f64| {
            all.iter().map(of).fold(0.0, f64::max)
        });
        let mut notes = Vec::new();
        let busy = all.iter().filter(|one| one.busy_cores > BUSY_CORES_MAX);
        let busy = busy.count();
        if busy > 0 {
            notes.push(format!(
                "the machine was noisy: other programs ran before {busy} of {total} rounds (up to {:.1} cores): \
                 trust the ratios more than the times",
                most(|one| one.busy_cores)
            ));
        }
        let stolen = all.iter().filter(|one| one.steal > STEAL_MAX).count();
        if stolen > 0 {
            notes.push(format!(
                "the machine was noisy: its hypervisor took time in {stolen} of {total} rounds (up to {:.0} %): \
                 trust the ratios more than the times",
                most(|one| one.steal) * 100.0
            ));
        }
        notes
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
            "awake": self.is_awake,
            "kernel": self.kernel,
            "load_average": self.load_average,
            "busy_cores": (self.busy_cores * 100.0).round() / 100.0,
            "disturbances": self.disturbances.iter().map(|one| one.to_json()).collect::<Vec<_>>(),
            "profile": self.profile,
            "rustc": self.rustc,
            "date": self.date,
            "contenders": contenders,
        })
    }

    /// Reads what [`Environment::to_json`] wrote.
    pub(crate) fn from_json(json: &Value) -> Result<Self, String> {
        let object = Object::new(json, "environment")?;
        let contenders = object.object("contenders")?;
        let contenders = contenders.entries().map(|(name, version)| {
            let version = version.as_str().unwrap_or("unknown");
            (name.clone(), version.to_owned())
        });
        let placement = object.text("placement")?;
        Ok(Self {
            cpu: object.text("cpu")?,
            cores: object.count("cores")? as usize,
            placement: Placement::named(&placement).ok_or_else(|| {
                format!("expected a placement in environment, got \"{placement}\"")
            })?,
            is_awake: object.flag("awake")?,
            kernel: object.text("kernel")?,
            load_average: object.text("load_average")?,
            busy_cores: object.number("busy_cores")?,
            disturbances: object.list("disturbances", |json, place| {
                Disturbance::from_json(json)
                    .ok_or_else(|| format!("expected busy_cores and steal in {place}, got {json}"))
            })?,
            profile: object.text("profile")?,
            rustc: object.text("rustc")?,
            date: object.text("date")?,
            contenders: contenders.collect(),
        })
    }

    pub(crate) fn to_text(&self) -> String {
        let Self {
            cpu,
            cores,
            placement,
            is_awake,
            kernel,
            load_average,
            profile,
            rustc,
            date,
            ..
        } = self;
        let mut text = format!(
            "{cpu}, {cores} cores ({}{}), Linux {kernel}, load {load_average}\n{profile} build, {rustc}, {date}\n",
            placement.name(),
            if *is_awake { ", kept awake" } else { "" }
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

/// How long the machine is watched before a run.
const BUSY_TIME: Duration = Duration::from_millis(300);

/// Busy cores above which a run is not undisturbed.
const BUSY_CORES_MAX: f64 = 0.5;

/// The share of a round's time that a hypervisor may take before the round is not undisturbed.
const STEAL_MAX: f64 = 0.02;

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
    fn a_noisy_run_says_so() {
        let mut environment = Environment::of_this_machine(&[], Placement::Free);
        let disturbance = |busy_cores, steal| Disturbance { busy_cores, steal };
        environment.disturbances = vec![disturbance(0.2, 0.01), disturbance(0.0, 0.0)];
        assert_eq!(environment.disturbed(), [""; 0]);
        environment.disturbances = vec![disturbance(0.2, 0.05), disturbance(1.25, 0.0)];
        assert_eq!(
            environment.disturbed(),
            [
                "the machine was noisy: other programs ran before 1 of 2 rounds (up to 1.2 cores): \
                 trust the ratios more than the times",
                "the machine was noisy: its hypervisor took time in 1 of 2 rounds (up to 5 %): \
                 trust the ratios more than the times",
            ]
        );
        let read = Environment::from_json(&environment.to_json()).unwrap();
        assert_eq!(read.disturbances, environment.disturbances);
    }

    #[test]
    fn what_makes_figures_worth_less_is_warned_of() {
        let mut environment = Environment::of_this_machine(&[], Placement::Free);
        environment.profile = "release".to_owned();
        environment.load_average = "1.75 1.00 2.00".to_owned();
        environment.busy_cores = 0.1;
        assert_eq!(environment.warnings(), [""; 0]);
        environment.profile = "debug".to_owned();
        environment.busy_cores = 1.25;
        environment.placement = Placement::Apart;
        environment.cores = 1;
        let warnings = environment.warnings();
        let [debug, one_core, load] = warnings.as_slice() else {
            panic!("expected three warnings, got {warnings:?}");
        };
        assert!(debug.contains("--release") && one_core.contains("one core"));
        assert!(load.contains("1.2 cores"), "{load}");
        environment.profile = "dist".to_owned();
        let warnings = environment.warnings();
        assert!(warnings[0].contains("`dist`"), "{warnings:?}");
    }
}
