//! One round of one contender: starts its processes, and takes down what they say, or why they say nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::contender::Ready;
use crate::contender::events::case::Case;
use crate::contender::fanout;
use crate::contender::gateway;
use crate::contender::slow;
use crate::error::LabError;
use crate::measure::Effort;
use crate::placement::Cores;
use crate::process::Process;
use crate::sample::{OfSubscribers, Sample, ServiceUse};
use crate::scenario::Processes;
use crate::slow_line::{End, SlowLine};
use crate::stop::Stop;
use crate::usage::Usage;
use serde_json::Value;

/// Why a round has no figures.
#[derive(Debug)]
pub(crate) struct RoundError {
    pub(crate) error: LabError,
    pub(crate) extent: Extent,
}

/// The extent to which a [`RoundError`] ends measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// This contender in this case.
    Case,
    /// This contender in any case: what it serves with, or any process of it, cannot be started.
    AllCases,
    /// All contenders.
    Run,
}

impl RoundError {
    fn of_all_cases(error: LabError) -> Self {
        let extent = match error {
            LabError::Stopped => Extent::Run,
            _ => Extent::AllCases,
        };
        Self { error, extent }
    }

    pub(crate) fn of_run(error: LabError) -> Self {
        let extent = Extent::Run;
        Self { error, extent }
    }

    /// Why, for those who know of whom.
    pub(crate) fn reason(&self) -> String {
        match &self.error {
            LabError::Contender { reason, .. } => reason.clone(),
            error => error.to_string(),
        }
    }
}

impl From<LabError> for RoundError {
    fn from(error: LabError) -> Self {
        let extent = match error {
            LabError::Contender { .. } => Extent::Case,
            LabError::Start { .. } => Extent::AllCases,
            _ => Extent::Run,
        };
        Self { error, extent }
    }
}

/// The state that the processes of all contenders share.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) cores: Cores,
    pub(crate) stop: Stop,
}

/// Starts the processes of the contender, and takes down what they say.
pub(crate) fn measure(
    processes: Processes,
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    match processes {
        Processes::ServerAndClient => measure_pair(contender, case, effort, stage),
        Processes::One => measure_alone(contender, case, effort, stage),
        Processes::Events => measure_events(contender, case, effort, stage),
        Processes::Topics => measure_topics(contender, case, effort, stage),
        Processes::Fanout => measure_fanout(contender, case, effort, stage),
        Processes::Durable => measure_durable(contender, case, effort, stage),
        Processes::Gateway => measure_gateway(contender, case, effort, stage),
        Processes::OverSlowLine => measure_over_slow_line(contender, case, effort, stage),
    }
}

/// Starts a server and a client of the contender, and takes down what the client says.
fn measure_pair(
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    let command = contender.server(case);
    let mut server = Process::start(
        contender.name,
        "server",
        command,
        stage.cores.server.as_ref(),
        &stage.stop,
    )?;
    let address = server.line(START_LIMIT);
    let address = address.map_err(RoundError::of_all_cases)?;
    let command = contender.client(case, &address, effort);
    let mut client = Process::start(
        contender.name,
        "client",
        command,
        stage.cores.client.as_ref(),
        &stage.stop,
    )?;
    Ok(sample_of(contender, &mut client, effort)?)
}

/// Starts a process of the contender that measures by itself, and takes down what it says.
fn measure_alone(
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    let command = contender.alone(case, effort);
    let mut process = Process::start(
        contender.name,
        "process",
        command,
        stage.cores.client.as_ref(),
        &stage.stop,
    )?;
    Ok(sample_of(contender, &mut process, effort)?)
}

fn sample_of(contender: &Ready, process: &mut Process, effort: Effort) -> Result<Sample, LabError> {
    let line = process.line(limit(effort))?;
    Sample::from_line(&line).map_err(|reason| LabError::contender(contender.name, reason))
}

/// Starts a service, subscribers and publishers of the contender; lets the publishers publish when all subscribers
/// have heard all of them, and takes down what the subscribers say.
fn measure_events(
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    let failed = |reason: String| LabError::contender(contender.name, reason);
    let shape = Case::parse(case).map_err(|error| failed(error.to_string()))?;
    let mut service = match contender.service(case) {
        Some(command) => Some(RunningService::start(contender, command, stage)?),
        None => None,
    };
    let address = match &service {
        Some(service) => service.address.clone(),
        None => unique_name(),
    };
    let start = |role: &'static str, index: usize| {
        let command = contender.participant(role, case, effort, &address, index);
        Process::start(
            contender.name,
            role,
            command,
            stage.cores.client.as_ref(),
            &stage.stop,
        )
    };
    let subscribers = (0..shape.subscribers).map(|index| start("subscriber", index));
    let mut subscribers = subscribers.collect::<Result<Vec<_>, _>>()?;
    let publishers = (0..shape.publishers).map(|index| start("publisher", index));
    let mut publishers = publishers.collect::<Result<Vec<_>, _>>()?;
    for subscriber in &mut subscribers {
        subscriber.line(START_LIMIT)?;
    }
    let before = service.as_mut().map(RunningService::usage).transpose()?;
    for publisher in &mut publishers {
        publisher.say("go")?;
    }
    let mut published = 0;
    for publisher in &mut publishers {
        let line = publisher.line(limit(effort))?;
        published += count_in(&line, "published").map_err(failed)?;
    }
    let mut sample = Sample::new();
    for subscriber in &mut subscribers {
        let line = subscriber.line(limit(effort))?;
        let (of_one, delivered) = Sample::from_delivered_line(&line).map_err(failed)?;
        if delivered != published {
            let reason = format!("expected {published} events at a subscriber, got {delivered}");
            return Err(failed(reason).into());
        }
        sample.add(&of_one);
    }
    if let (Some(service), Some(before)) = (&mut service, before) {
        let after = service.usage()?;
        sample.service = Some(ServiceUse {
            cpu: after.cpu.saturating_sub(before.cpu),
            deliveries: published * shape.subscribers as u64,
            resident: after.resident,
            of_subscribers: None,
        });
    }
    // The service is the last to end: nobody shall complain that it is gone.
    drop(publishers);
    drop(subscribers);
    Ok(sample)
}

/// Starts a service, a replier and a pinger of the contender, and takes down what the pinger says.
fn measure_topics(
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    let service = match contender.service(case) {
        Some(command) => Some(RunningService::start(contender, command, stage)?),
        None => None,
    };
    let address = match &service {
        Some(service) => service.address.clone(),
        None => unique_name(),
    };
    let start = |role: &'static str| {
        let command = contender.participant(role, case, effort, &address, 0);
        let cores = stage.cores.client.as_ref();
        Process::start(contender.name, role, command, cores, &stage.stop)
    };
    let replier = start("replier")?;
    let mut pinger = start("pinger")?;
    let sample = sample_of(contender, &mut pinger, effort)?;
    // The service is the last to end: nobody shall complain that it is gone.
    drop((pinger, replier));
    Ok(sample)
}

/// Starts a service, and a process with all publishers and subscribers of the contender; takes down what that process says, and
/// how much memory the service needs for its subscribers.
fn measure_fanout(
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    let failed = |reason: String| LabError::contender(contender.name, reason);
    let shape = fanout::case::Case::parse(case).map_err(|error| failed(error.to_string()))?;
    let command = contender.service(case);
    let command = command.ok_or_else(|| failed("it has no service".to_owned()))?;
    let mut service = RunningService::start(contender, command, stage)?;
    let alone = service.usage()?;
    let command = contender.participant("fanout", case, effort, &service.address, 0);
    let cores = stage.cores.client.as_ref();
    let mut clients = Process::start(contender.name, "clients", command, cores, &stage.stop)?;
    clients.line(START_LIMIT)?;
    let before = service.usage()?;
    clients.say("go")?;
    let mut sample = sample_of(contender, &mut clients, effort)?;
    let after = service.usage()?;
    // A call of the sample is an event of each publisher, of which each subscriber gets one.
    let calls = sample.count() + sample.warm_up;
    let deliveries = calls * (shape.publishers * shape.subscribers) as u64;
    sample.service = Some(ServiceUse {
        cpu: after.cpu.saturating_sub(before.cpu),
        deliveries,
        resident: after.resident,
        of_subscribers: Some(OfSubscribers {
            bytes: before.resident.saturating_sub(alone.resident),
            count: shape.subscribers as u64,
        }),
    });
    // The service is the last to end: nobody shall complain that it is gone.
    drop(clients);
    Ok(sample)
}

/// Starts a service and a publisher of the contender, and takes down what the publisher says.
fn measure_durable(
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    let service = match contender.service(case) {
        Some(command) => Some(RunningService::start(contender, command, stage)?),
        None => None,
    };
    let address = service.as_ref().map(|service| service.address.as_str());
    let command = contender.participant("publisher", case, effort, address.unwrap_or_default(), 0);
    let cores = stage.cores.client.as_ref();
    let mut publisher = Process::start(contender.name, "publisher", command, cores, &stage.stop)?;
    let sample = sample_of(contender, &mut publisher, effort)?;
    // The service is the last to end: nobody shall complain that it is gone.
    drop(publisher);
    Ok(sample)
}

/// Starts a server and a client of the contender at the ends of a slow line, and counts what it carries.
fn measure_over_slow_line(
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    let failed = |reason: String| LabError::contender(contender.name, reason);
    let slow = slow::case::Case::parse(case).map_err(|error| failed(error.to_string()))?;
    let mut line = SlowLine::new(slow.line)?;
    let start = |role, command| Process::start(contender.name, role, command, None, &stage.stop);
    let command = line.at(End::Server, &contender.server(case));
    let mut server = start("server", command)?;
    let address = server.line(START_LIMIT);
    let address = line.through(&address.map_err(RoundError::of_all_cases)?)?;
    let command = line.at(End::Client, &contender.client(case, &address, effort));
    let mut client = start("client", command)?;
    let wait_for = |client: &mut Process, word: &str| match client.line(SLOW_LIMIT)? {
        line if line == word => Ok(()),
        line => Err(failed(format!("expected \"{word}\", got \"{line}\""))),
    };
    wait_for(&mut client, slow::READY)?;
    let before = line.carried()?;
    client.say("go")?;
    wait_for(&mut client, slow::SENT)?;
    let after = line.carried()?;
    client.say("go")?;
    let mut sample = sample_of(contender, &mut client, effort)?;
    sample.carried = Some(after.since(before));
    // The router or server is the last to end.
    drop(client);
    Ok(sample)
}

/// Starts a router with a back end, and a client of the contender; takes down what the client says, and how much memory the router
/// needs for its sessions.
fn measure_gateway(
    contender: &Ready,
    case: &str,
    effort: Effort,
    stage: &Stage,
) -> Result<Sample, RoundError> {
    let failed = |reason: String| LabError::contender(contender.name, reason);
    let work = gateway::Case::parse(case).map_err(|error| failed(error.to_string()))?;
    let command = contender.service(case);
    let command = command.ok_or_else(|| failed("it has no router".to_owned()))?;
    let mut router = RunningService::start(contender, command, stage)?;
    let before = router.usage()?;
    let command = contender.participant("client", case, effort, &router.address, 0);
    let cores = stage.cores.client.as_ref();
    let mut client = Process::start(contender.name, "client", command, cores, &stage.stop)?;
    // The client keeps its sessions until the lab drops it.
    let mut sample = sample_of(contender, &mut client, effort)?;
    let after = router.usage()?;
    sample.service = Some(ServiceUse {
        cpu: after.cpu.saturating_sub(before.cpu),
        deliveries: sample.count() + sample.warm_up,
        resident: after.resident,
        of_subscribers: work.sessions().map(|count| OfSubscribers {
            bytes: after.resident.saturating_sub(before.resident),
            count,
        }),
    });
    // The router is the last to end.
    drop(client);
    Ok(sample)
}

/// A service that can be reached.
struct RunningService {
    process: Process,
    address: String,
    pid: u64,
}

impl RunningService {
    fn start(
        contender: &Ready,
        command: std::process::Command,
        stage: &Stage,
    ) -> Result<Self, RoundError> {
        let cores = stage.cores.server.as_ref();
        let mut process = Process::start(contender.name, "service", command, cores, &stage.stop)?;
        let line = process.line(START_LIMIT);
        let line = line.map_err(RoundError::of_all_cases)?;
        let wrong = || {
            let reason = format!("expected the address and the pid of its service, got \"{line}\"");
            RoundError::of_all_cases(LabError::contender(contender.name, reason))
        };
        let pid = count_in(&line, "pid").map_err(|_| wrong())?;
        let value: Value = serde_json::from_str(&line).map_err(|_| wrong())?;
        let address = value.get("address").and_then(Value::as_str);
        Ok(Self {
            address: address.ok_or_else(wrong)?.to_owned(),
            pid,
            process,
        })
    }

    /// # Errors
    /// [`LabError::Contender`] if it has ended, with what it said.
    fn usage(&mut self) -> Result<Usage, LabError> {
        Usage::of(self.pid).map_err(|error| self.process.failed(&error.to_string()))
    }
}

/// A name under which those of one round meet: no other round on this host has it.
fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("floe-lab-{}-{count}", std::process::id())
}

/// A number in a line of JSON.
fn count_in(line: &str, key: &str) -> Result<u64, String> {
    let value: Option<Value> = serde_json::from_str(line).ok();
    let count = value.and_then(|value| value.get(key)?.as_u64());
    count.ok_or_else(|| format!("expected {{\"{key}\": number}}, got \"{line}\""))
}

/// How long a process may take until it has measured.
fn limit(effort: Effort) -> Duration {
    START_LIMIT + COUNTED_LIMIT + 2 * (effort.warm_up() + effort.round_time)
}

/// How long calls may take whose number does not depend on the time of a round, on a busy machine: a hundred thousand, of a
/// millisecond each.
const COUNTED_LIMIT: Duration = Duration::from_secs(100);

/// How long a case may take over a slow line: a thousand events of which each needs a frame and its acknowledgement.
const SLOW_LIMIT: Duration = Duration::from_secs(300);

/// How long a process may take to start, on a busy machine: some of them are thirty machines of Java on few cores.
const START_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::Placement;

    #[test]
    fn what_a_service_needs_is_divided_by_what_it_did_in_the_warm_up_too() {
        const SCRIPT: &str = r#"
            case $1 in
                service) echo "{\"address\": \"here\", \"pid\": $$}" ;;
                fanout) echo ready; read -r go ;;
            esac
            [ $1 = service ] || echo '{"calls": [[1000, 10]], "warm_up": 4}'
            read -r end"#;
        let contender = Ready::of_script("nats", SCRIPT);
        let stage = Stage {
            cores: Cores::new(Placement::Free).unwrap(),
            stop: Stop::new(),
        };
        let effort = Effort {
            round_time: Duration::from_millis(10),
        };
        for (processes, case, deliveries) in [
            (Processes::Fanout, "fan-2-3", 14 * 2 * 3),
            (Processes::Gateway, "twoway", 14),
        ] {
            let sample = measure(processes, &contender, case, effort, &stage).unwrap();
            assert_eq!(sample.count(), 10, "{case}");
            let service = sample.service.unwrap();
            assert_eq!(service.deliveries, deliveries, "{case}");
        }
    }
}
