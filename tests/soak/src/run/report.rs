//! The result: a table for people, and JSON for programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::audit::Sums;
use crate::id::Kind;
use crate::watch::Course;

/// Findings that are shown; all are counted.
const SHOWN_MAX: usize = 20;

/// The result of a run.
#[derive(Debug)]
pub(super) struct Report {
    seed: u64,
    seconds: u64,
    pub(super) kills: usize,
    pub(super) pauses: usize,
    calls: BTreeMap<Kind, Sums>,
    members: Vec<MemberRow>,
    findings: Vec<String>,
    finding_count: usize,
    /// The members that could not take part.
    absent: Vec<String>,
}

#[derive(Debug)]
struct MemberRow {
    name: String,
    start_count: usize,
    course: Option<Course>,
}

impl Report {
    pub(super) fn new(seed: u64, seconds: u64) -> Self {
        Self {
            seed,
            seconds,
            kills: 0,
            pauses: 0,
            calls: BTreeMap::new(),
            members: Vec::new(),
            findings: Vec::new(),
            finding_count: 0,
            absent: Vec::new(),
        }
    }

    /// Something that must not be.
    pub(super) fn finding(&mut self, finding: String) {
        self.finding_count += 1;
        if self.findings.len() < SHOWN_MAX {
            self.findings.push(finding);
        }
    }

    #[cfg(test)]
    pub(super) fn finding_count(&self) -> usize {
        self.finding_count
    }

    pub(super) fn calls(&mut self, calls: BTreeMap<Kind, Sums>) {
        self.calls = calls;
    }

    pub(super) fn member(&mut self, name: &str, start_count: usize, course: Option<Course>) {
        self.members.push(MemberRow {
            name: name.to_owned(),
            start_count,
            course,
        });
    }

    pub(super) fn absent(&mut self, who: String) {
        self.absent.push(who);
    }

    /// Prints it, writes it to the file, and says whether the run passed.
    pub(super) fn finish(&mut self, file: Option<&Path>) -> bool {
        for kind in Kind::ALL {
            let promised = self.calls.get(&kind).map_or(0, |sums| sums.promised);
            if promised == 0 && kind != Kind::Datagram {
                self.finding(format!("no call of kind `{}` succeeded", kind.name()));
            }
        }
        if let Some(file) = file
            && let Err(error) = fs::write(file, format!("{:#}\n", self.json()))
        {
            self.finding(format!("cannot write {}: {error}", file.display()));
        }
        self.print();
        self.finding_count == 0
    }

    fn print(&self) {
        let [kind, executed, promised, denied, unknown] =
            ["calls", "executed", "promised", "denied", "unknown"];
        println!("{kind:<16} {executed:>10} {promised:>10} {denied:>10} {unknown:>10}");
        for (kind, sums) in &self.calls {
            let Sums {
                executed,
                promised,
                denied,
                unknown,
            } = sums;
            let name = kind.name();
            println!("{name:<16} {executed:>10} {promised:>10} {denied:>10} {unknown:>10}");
        }
        let [name, starts, memory, descriptors] =
            ["member", "starts", "resident kB", "descriptors"];
        println!("\n{name:<24} {starts:>6} {memory:>20} {descriptors:>14}");
        for member in &self.members {
            let course = member.course.map_or(Default::default(), |course| {
                let kilobytes = course.resident.map(|bytes| bytes / 1024);
                (between(kilobytes), between(course.descriptors))
            });
            let (memory, descriptors): (String, String) = course;
            let (name, starts) = (&member.name, member.start_count);
            println!("{name:<24} {starts:>6} {memory:>20} {descriptors:>14}");
        }
        println!();
        for who in &self.absent {
            println!("absent: {who}");
        }
        for finding in &self.findings {
            println!("finding: {finding}");
        }
        println!("soak: {}", self.verdict());
    }

    fn verdict(&self) -> String {
        let promised: u64 = self.calls.values().map(|sums| sums.promised).sum();
        let Self {
            seconds,
            seed,
            kills,
            pauses,
            ..
        } = self;
        let run = format!(
            "{seconds} s, {promised} promises, {kills} kills, {pauses} pauses, seed {seed}"
        );
        match self.finding_count {
            0 => format!("passed, {run}"),
            count => format!("FAILED with {count} findings, {run}"),
        }
    }

    fn json(&self) -> Value {
        let calls = self.calls.iter().map(|(kind, sums)| {
            json!({"kind": kind.name(), "executed": sums.executed, "promised": sums.promised,
                "denied": sums.denied, "unknown": sums.unknown})
        });
        let members = self.members.iter().map(|member| {
            let course = member.course;
            json!({"name": member.name, "starts": member.start_count,
                "resident_bytes": course.map(|course| course.resident),
                "descriptors": course.map(|course| course.descriptors)})
        });
        json!({
            "passed": self.finding_count == 0,
            "seed": self.seed,
            "seconds": self.seconds,
            "kills": self.kills,
            "pauses": self.pauses,
            "calls": calls.collect::<Vec<_>>(),
            "members": members.collect::<Vec<_>>(),
            "absent": self.absent,
            "finding_count": self.finding_count,
            "findings": self.findings,
        })
    }
}

fn between<T: std::fmt::Display>([first, last]: [T; 2]) -> String {
    format!("{first} -> {last}")
}
