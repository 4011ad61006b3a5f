// The console of a Floe server: reads one stream of snapshots and shows them. Everything that comes from the server is text, and
// never markup: elements are made one by one, and no string becomes HTML.
"use strict";

const VIEWS = [
  ["overview", "Overview"],
  ["topics", "Topics"],
  ["durable", "Durable"],
  ["letters", "Dead letters"],
  ["links", "Links"],
  ["gateway", "Gateway"],
  ["limits", "Limits"],
];
// Points of a plot: a second each.
const POINTS = 120;
// Topics whose course is remembered.
const COURSES = 2000;
const page = {
  view: "overview", topic: null, filter: "", sort: "attention", limit: 100,
  snapshot: null, before: null, detail: null, letters: null, token: "", stream: null, retry: 0,
  courses: new Map(), sum: [], waits: [],
};

// ---- elements

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") element.addEventListener("click", value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function svg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

// Lines over time, the newest at the right; each of `lines` is [class, values].
function plot(lines, label, kind = "plot") {
  // A young page shows half a minute, so that its lines can be seen.
  const points = Math.max(POINTS / 4, ...lines.map(([, values]) => values.length));
  const [width, height] = [points - 1, 40];
  const most = highest(lines.flatMap(([, values]) => values));
  const drawing = svg("svg", { class: kind, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  if (kind === "plot") drawing.append(svg("line", { x1: 0, y1: height - 1, x2: width, y2: height - 1 }));
  for (const [name, values] of lines) {
    // What never happens has no line.
    if (!values.some((value) => value > 0)) continue;
    const from = points - values.length;
    let path = "";
    let isDown = false;
    values.forEach((value, index) => {
      if (!Number.isFinite(value)) { isDown = false; return; }
      const y = height - 1 - (value / most) * (height - 4);
      path += `${isDown ? "L" : "M"}${from + index} ${y.toFixed(1)}`;
      isDown = true;
    });
    if (path) drawing.append(svg("path", { class: name, d: path }));
  }
  return drawing;
}

function highest(values) {
  return Math.max(1e-9, ...values.filter(Number.isFinite));
}

// The course of a rate, with the highest of it.
function rated(name, values, label) {
  return [plot([[name, values]], `${label} a second, in the last two minutes`), make("p", {}, `at most ${rate(values.some((value) => value > 0) ? highest(values) : 0)}/s`)];
}

function card(title, figure, unit, ...rest) {
  return make("section", { class: "card" }, make("h3", {}, title),
    make("p", { class: "figure" }, figure, unit ? make("small", {}, ` ${unit}`) : null), ...rest);
}

// Columns are [title, class, sort key]; rows are arrays of cells, the first of which names the row.
function table(caption, columns, rows) {
  const head = columns.map(([title, kind, sort]) => {
    const isSorted = sort && sort === page.sort;
    const label = sort
      ? make("button", { class: "sort", type: "button", "data-key": `sort-${sort}`, onclick: () => { page.sort = sort; connect(); } }, title, isSorted ? " ▾" : "")
      : title;
    return make("th", { scope: "col", class: kind, "aria-sort": isSorted ? (sort === "name" ? "ascending" : "descending") : null }, label);
  });
  const body = rows.map((cells) => make("tr", {}, cells.map((cell, index) => {
    const kind = columns[index][1];
    const isZero = kind === "n" && (cell === "0" || cell === "–" || cell === "0 B");
    return index === 0 ? make("th", { scope: "row" }, cell) : make("td", { class: isZero ? "n zero" : kind }, cell);
  })));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, head)), make("tbody", {}, body)));
}

// ---- figures

const whole = new Intl.NumberFormat("en");
function count(value) {
  if (value === null || value === undefined) return "–";
  return whole.format(value);
}
function rate(value) {
  if (value === null || value === undefined) return "–";
  return value >= 100 ? whole.format(Math.round(value)) : value.toFixed(value === 0 ? 0 : 1);
}
function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
function time(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds === 0) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const [day, hour, minute] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (day) return `${day} d ${hour} h`;
  if (hour) return `${hour} h ${minute} min`;
  if (minute) return `${minute} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds)} s`;
}
function micros(value) {
  if (value === null) return "–";
  if (value < 1000) return `${value} µs`;
  if (value < 1e6) return `${value / 1000} ms`;
  return `${value / 1e6} s`;
}
// The upper bound of the time within which a part of the events since the snapshot before were done; null if there were none.
function percentile(now, before, part) {
  const older = before ? before.buckets_us : now.buckets_us.map(([bound]) => [bound, 0]);
  const counts = now.buckets_us.map(([bound, all], index) => [bound, all - older[index][1]]);
  const longer = now.longer - (before ? before.longer : 0);
  const sum = counts.reduce((all, [, own]) => all + own, longer);
  if (sum <= 0) return null;
  let seen = 0;
  for (const [bound, own] of counts) {
    seen += own;
    if (seen >= sum * part) return bound;
  }
  return counts[counts.length - 1][0];
}

// ---- what is remembered for plots

function remember(list, value) {
  list.push(value);
  if (list.length > POINTS) list.shift();
}
function learn(snapshot) {
  const hub = snapshot.hub;
  if (!hub) return;
  const totals = hub.totals;
  remember(page.sum, [totals.published_per_second, totals.delivered_per_second, totals.lost_per_second]);
  const before = page.snapshot && page.snapshot.hub;
  const latency = before ? percentile(hub.latencies.deliveries, before.latencies.deliveries, 0.5) : null;
  const high = before ? percentile(hub.latencies.deliveries, before.latencies.deliveries, 0.99) : null;
  remember(page.waits, [latency, high]);
  for (const topic of snapshot.topics) {
    let course = page.courses.get(topic.name);
    if (!course) {
      if (page.courses.size >= COURSES) page.courses.delete(page.courses.keys().next().value);
      page.courses.set(topic.name, course = []);
    }
    remember(course, [topic.published_per_second, topic.delivered_per_second, topic.lost_per_second]);
  }
}
function course(list, index) {
  return list.map((point) => (point[index] === null ? NaN : point[index]));
}
function rates(list) {
  return [["in", course(list, 0)], ["out", course(list, 1)], ["lost", course(list, 2)]];
}

// ---- views

const SHOWN = {
  overview(snapshot) {
    const hub = snapshot.hub;
    const parts = [make("h2", {}, "What needs attention")];
    if (!snapshot.findings.length) parts.push(make("div", { class: "notice ok" }, make("p", {}, "Nothing is wrong.")));
    for (const finding of snapshot.findings) {
      parts.push(make("div", { class: "notice" }, make("p", {}, finding.what), make("p", { class: "hint" }, finding.what_to_do)));
    }
    if (!hub) {
      parts.push(make("p", { class: "hint" }, snapshot.gateway ? "This server is a gateway, and has no hub." : "The hub has ended."));
      return parts;
    }
    const totals = hub.totals;
    const last = page.waits[page.waits.length - 1] || [null, null];
    parts.push(make("h2", {}, "Now, and in the last two minutes"), make("div", { class: "cards" },
      card("Published", rate(totals.published_per_second), "events/s", rated("in", course(page.sum, 0), "published events")),
      card("Delivered", rate(totals.delivered_per_second), "events/s", rated("out", course(page.sum, 1), "delivered events")),
      card("Lost", rate(totals.lost_per_second), "events/s", rated("lost", course(page.sum, 2), "lost events")),
      card("Delivery, from publisher to answer", last[0] === null ? "–" : `≤ ${micros(last[0])}`, last[1] === null ? "no twoway deliveries" : `99 %: ≤ ${micros(last[1])}`,
        plot([["in", course(page.waits, 0)], ["lost", course(page.waits, 1)]], "median and 99th percentile of the time of a delivery, in the last two minutes"), make("p", {}, "median and 99th percentile")),
      card("Waiting", count(totals.queued), "events", make("p", {}, totals.queued ? `${bytes(totals.queued_bytes)}, the oldest for ${time(totals.lag_seconds)}` : "nothing waits")),
      card("Topics", count(hub.topics), "", make("p", {}, `${count(totals.subscribers)} subscribers and links`)),
      card("Connections", count(hub.connections), "", make("p", {}, `${count(hub.connections_refused)} refused by limits, ${count(hub.requests_refused)} requests by rules`)),
      card("Running for", time(hub.uptime_seconds), "", make("p", {}, `Floe ${snapshot.program_version}`))));
    parts.push(make("h2", {}, "Since the start"), make("div", { class: "cards" },
      card("Published", count(totals.published), "events", make("p", {}, `${count(totals.forwarded)} more came over links`)),
      card("Delivered", count(totals.delivered), "events"),
      card("Lost", count(totals.lost.total), "events", make("p", {}, reasons(totals.lost))),
      card("Dead letters", count(hub.dead_letters), "events")));
    if (snapshot.recent_losses.length) {
      parts.push(make("h2", {}, "Lost in the last minute"), table("Places of losses", [["Topic", ""], ["Subscriber", "text"], ["Lost", "n"], ["Why", "text"], ["Last", "n"]],
        snapshot.recent_losses.map((loss) => [topicLink(loss.topic), loss.subscriber, count(loss.lost.total), reasons(loss.lost), `${time(loss.seconds_ago)} ago`])));
    }
    return parts;
  },

  topics(snapshot) {
    if (page.topic !== null) return topicDetail(snapshot);
    const filter = make("input", { type: "search", id: "filter", placeholder: "Part of a name", "aria-label": "Show topics whose names contain", value: page.filter });
    filter.addEventListener("input", () => { page.filter = filter.value; later(connect); });
    const shown = snapshot.topics.length;
    const bar = make("div", { class: "bar" }, filter,
      make("span", { class: "hint", role: "status" }, shown < snapshot.topics_matching ? `${count(shown)} of ${count(snapshot.topics_matching)} topics` : `${count(shown)} topics`),
      shown < snapshot.topics_matching && page.limit < 1000 ? make("button", { type: "button", "data-key": "more", onclick: () => { page.limit = 1000; connect(); } }, "Show up to 1,000") : null,
      make("button", { type: "button", "data-key": "sort-attention", onclick: () => { page.sort = "attention"; connect(); }, "aria-pressed": page.sort === "attention" }, "Busiest and worst first"));
    const columns = [["Topic", "", "name"], ["Last two minutes", "wide"], ["Published/s", "n", "published"], ["Delivered/s", "n"], ["Lost/s", "n"], ["Waiting", "n", "queued"],
      ["Oldest", "n", "lag"], ["Subscribers", "n", "subscribers"], ["Delivered", "n", "delivered"], ["Lost", "n", "lost"]];
    const rows = snapshot.topics.map((topic) => [
      topicLink(topic.name), plot(rates(page.courses.get(topic.name) || []), "published, delivered and lost", "spark"),
      rate(topic.published_per_second), rate(topic.delivered_per_second), bad(rate(topic.lost_per_second), topic.lost_per_second > 0), count(topic.queued),
      time(topic.lag_seconds), count(topic.subscribers), count(topic.delivered), bad(count(topic.lost.total), topic.lost.total > 0)]);
    const key = make("p", { class: "key" }, make("span", { class: "k-in" }, "published"), make("span", { class: "k-out" }, "delivered"), make("span", { class: "k-lost" }, "lost"));
    return [make("h2", {}, "Topics"), bar, table("Topics", columns, rows), key];
  },

  durable(snapshot) {
    const parts = [make("h2", {}, "Logs")];
    if (!snapshot.durable_topics.length) return [...parts, make("p", { class: "hint" }, "No topic is durable.")];
    parts.push(table("Logs of durable topics, against their retention", [["Topic", ""], ["Events", "n"], ["Bytes", "n"], ["Of its limit", ""], ["Oldest", "n"], ["Keeps", "text"], ["Dead letters", "n"], ["Not written", "n"]],
      snapshot.durable_topics.map((log) => [topicLink(log.topic), count(log.events), bytes(log.bytes), filled(log), time(log.age_seconds), keeps(log), count(log.kept_dead_letters), bad(count(log.unwritten), log.unwritten > 0)])));
    parts.push(make("h2", {}, "Durable subscriptions"));
    const rows = snapshot.durable_topics.flatMap((log) => log.subscriptions.map((own) => [
      own.name, topicLink(log.topic), bad(count(own.lag_events), own.lag_seconds > 10), bytes(own.lag_bytes), time(own.lag_seconds), bad(count(own.dropped), own.dropped > 0),
      count(own.subscribers), own.away_seconds > 0 ? bad(`nobody for ${time(own.away_seconds)}`, true) : "there", count(own.expired)]));
    parts.push(table("Durable subscriptions", [["Subscription", ""], ["Topic", "text"], ["Behind", "n"], ["Bytes", "n"], ["Oldest", "n"], ["Dropped", "n"], ["Subscribers", "n"], ["Receiver", ""], ["Expired", "n"]], rows));
    return parts;
  },

  letters(snapshot) {
    // Topics may share a topic for their dead letters: each has its own in it.
    const places = [];
    for (const log of snapshot.durable_topics) {
      const own = new Set(log.subscriptions.map((subscription) => subscription.dead_letter_topic).filter(Boolean));
      for (const dead of own) places.push([dead, log.topic]);
    }
    const parts = [make("h2", {}, "Dead letters")];
    if (!places.length) return [...parts, make("p", { class: "hint" }, "No durable subscription has a topic for its dead letters.")];
    const logs = new Map(snapshot.durable_topics.map((log) => [log.topic, log]));
    parts.push(table("Topics of dead letters", [["Dead letters in", ""], ["Of topic", "text"], ["Events there", "n"], ["Look and change", ""]], places.map(([dead, topic]) => [
      dead, topicLink(topic), count(logs.has(dead) ? logs.get(dead).events : null),
      make("span", { class: "bar" },
        make("button", { type: "button", "data-key": `show ${dead} ${topic}`, onclick: () => showLetters(topic, dead) }, "Show"),
        change("Publish again", `replay ${dead} ${topic}`, `Publish the dead letters of “${topic}” in “${dead}” again? All durable subscriptions of the topic get them.`, "dead-letters/replay",
          { topic, dead_letter_topic: dead }, (done) => `Published ${count(done.published)} dead letters again.`),
        change("Delete all", `purge ${dead} ${topic}`, `Delete all dead letters of “${topic}” in “${dead}”? They are gone for good.`, "dead-letters/purge",
          { topic, dead_letter_topic: dead }, (done) => `Deleted ${count(done.deleted)} dead letters.`))])));
    if (page.letters) {
      parts.push(make("h2", {}, `Dead letters of ${page.letters.topic} in ${page.letters.dead_letter_topic}`), table(`The oldest among ${count(page.letters.events)} events`,
        [["Letter", ""], ["Operation", "text"], ["Subscription", "text"], ["Reason", "text"], ["Attempts", "n"], ["Bytes", "n"], ["Published again", ""]],
        page.letters.letters.map((letter) => [count(letter.letter), letter.operation, letter.subscription || "", letter.reason || "", count(letter.attempts), count(letter.parameters_bytes), letter.replayed ? "yes" : "no"])));
    }
    return parts;
  },

  links(snapshot) {
    const parts = [make("h2", {}, "Links")];
    if (!snapshot.links.length) return [...parts, make("p", { class: "hint" }, "No topic is linked to another.")];
    parts.push(table("Links to other topics", [["Topic", ""], ["Leads to", "text"], ["Cost", "n"], ["State", ""], ["Delivered", "n"], ["Waiting", "n"], ["Oldest", "n"], ["Lost", "n"], ["Change", ""]],
      snapshot.links.map((link) => [topicLink(link.topic), link.subscriber, count(link.cost), state(link.state), count(link.delivered), count(link.queued), time(link.lag_seconds),
        bad(count(link.lost.total), link.lost.total > 0), unsubscribe(link, "Unlink")])));
    return parts;
  },

  gateway(snapshot) {
    const gateway = snapshot.gateway;
    if (!gateway) return [make("h2", {}, "Gateway"), make("p", { class: "hint" }, "This server has no gateway.")];
    const problem = (title, value, about) => card(title, bad(count(value), value > 0), "", make("p", {}, about));
    return [make("h2", {}, "Gateway"), make("div", { class: "cards" },
      card("Sessions", count(gateway.sessions), "", make("p", {}, `${count(gateway.sessions_created)} since the start`)),
      card("To servers", count(gateway.to_servers), "requests", make("p", {}, bytes(gateway.to_servers_bytes))),
      card("To clients", count(gateway.to_clients), "requests", make("p", {}, bytes(gateway.to_clients_bytes))),
      card("Waiting", count(gateway.queued), "requests", make("p", {}, bytes(gateway.queued_bytes))),
      card("Memory", bytes(gateway.memory_bytes), "", make("p", {}, `${count(gateway.memory_full)} times none was left`))),
    make("h2", {}, "Refused and lost since the start"), make("div", { class: "cards" },
      problem("Logins refused", gateway.logins_refused, `${count(gateway.logins_slowed)} had to wait`),
      problem("Without a session", gateway.requests_without_session, "requests; their connections were closed"),
      problem("Proxies refused", gateway.proxies_refused, "by the address filter"),
      problem("Requests refused", gateway.requests_refused, "by filters or rules"),
      problem("Callbacks refused", gateway.callbacks_refused, "no session has their category"),
      problem("Over the rate", gateway.rate_exceeded, "requests beyond the rate of a user or an address"),
      problem("Queue full", gateway.queue_full, "requests"),
      problem("Lost", gateway.lost, "oneway requests that could not be forwarded"))];
  },

  limits(snapshot) {
    const rows = snapshot.limits.map((limit) => {
      const isMemory = limit.setting.endsWith("bytes");
      const shown = isMemory ? bytes : count;
      const part = limit.limit ? limit.used / limit.limit : 0;
      return [limit.setting, bad(shown(limit.used), part >= 0.9), shown(limit.limit), make("meter", { min: 0, max: 1, high: 0.9, optimum: 0, value: Math.min(1, part), "aria-label": `${limit.setting}: ${Math.round(part * 100)} %` })];
    });
    if (!rows.length) return [make("h2", {}, "Limits"), make("p", { class: "hint" }, "There is no hub.")];
    return [make("h2", {}, "Limits"), table("Limits in use; of limits of each user, the one that has used most", [["Setting", ""], ["In use", "n"], ["Limit", "n"], ["Part in use", ""]], rows)];
  },
};

function topicDetail(snapshot) {
  const parts = [make("p", {}, make("a", { href: "#topics" }, "← All topics")), make("h2", {}, page.topic === "" ? "(the topic without a name)" : page.topic)];
  const detail = page.detail;
  if (!detail || detail.name !== page.topic) return [...parts, make("p", { class: "hint" }, "reading…")];
  if (detail.error) return [...parts, make("div", { class: "notice" }, make("p", {}, detail.error))];
  const topic = detail.topic;
  const list = page.courses.get(topic.name) || [];
  parts.push(make("div", { class: "cards" },
    card("Published", rate(topic.published_per_second), "events/s", rated("in", course(list, 0), "published events"), make("p", {}, `${count(topic.published)} since the start`)),
    card("Delivered", rate(topic.delivered_per_second), "events/s", rated("out", course(list, 1), "delivered events"), make("p", {}, `${count(topic.delivered)} since the start`)),
    card("Lost", rate(topic.lost_per_second), "events/s", rated("lost", course(list, 2), "lost events"), make("p", {}, topic.lost.total ? reasons(topic.lost) : "none since the start")),
    card("Waiting", count(topic.queued), "events", make("p", {}, topic.queued ? `${bytes(topic.queued_bytes)}, the oldest for ${time(topic.lag_seconds)}` : "nothing waits"))));
  if (detail.durable) {
    const log = detail.durable;
    parts.push(make("h2", {}, "Log"), make("p", {}, `${count(log.events)} events, ${bytes(log.bytes)}, the oldest ${time(log.age_seconds)} old; keeps ${keeps(log)}.`));
  }
  parts.push(make("h2", {}, "Subscribers"));
  if (!detail.subscribers.length) return [...parts, make("p", { class: "hint" }, "Nobody subscribes.")];
  parts.push(table(detail.has_more ? "The first 500 subscribers and links" : "Subscribers and links",
    [["Subscriber", ""], ["State", ""], ["Waiting", "n"], ["Oldest", "n"], ["On the way", "n"], ["Delivered", "n"], ["Lost", "n"], ["Why", "text"], ["Change", ""]],
    detail.subscribers.map((own) => [own.subscriber, state(own.state), count(own.queued), time(own.lag_seconds), count(own.outstanding), count(own.delivered),
      bad(count(own.lost.total), own.lost.total > 0), reasons(own.lost), unsubscribe(own, own.is_link ? "Unlink" : "Unsubscribe")])));
  return parts;
}

function topicLink(name) {
  return make("a", { href: `#topics/${encodeURIComponent(name)}` }, name === "" ? "(no name)" : name);
}
function bad(text, isBad) {
  return isBad ? make("strong", { class: "bad" }, text) : text;
}
function state(word) {
  return make("span", { class: word === "online" ? "good" : "bad" }, word);
}
function reasons(lost) {
  return Object.entries(lost).filter(([reason, own]) => reason !== "total" && own > 0).map(([reason, own]) => `${count(own)} ${reason}`).join(", ");
}
function keeps(log) {
  const limits = [log.keeps_events ? `${count(log.keeps_events)} events` : null, log.keeps_bytes ? bytes(log.keeps_bytes) : null, log.keeps_seconds ? time(log.keeps_seconds) : null];
  return limits.filter((limit) => limit).join(", ") || "everything";
}
function filled(log) {
  const parts = [log.keeps_events ? log.events / log.keeps_events : 0, log.keeps_bytes ? log.bytes / log.keeps_bytes : 0, log.keeps_seconds ? log.age_seconds / log.keeps_seconds : 0];
  if (!log.keeps_events && !log.keeps_bytes && !log.keeps_seconds) return "no limit";
  const most = Math.min(1, Math.max(...parts));
  return make("meter", { min: 0, max: 1, value: most, "aria-label": `${Math.round(most * 100)} % of its retention` });
}

// ---- changes

function change(label, key, question, path, body, told) {
  const rights = page.snapshot.rights;
  return make("button", {
    type: "button", class: "danger", "data-key": key, disabled: !rights.may_change, title: rights.may_change ? null : "This needs the right admin.",
    onclick: async () => {
      if (!(await ask(question, label))) return;
      const { ok, value } = await send(path, body);
      say(ok ? told(value) : value.error);
      if (page.letters) showLetters(page.letters.topic, page.letters.dead_letter_topic);
      if (page.topic !== null) readDetail();
    },
  }, label);
}
function unsubscribe(own, label) {
  return change(label, `end ${own.topic} ${own.subscriber}`, `${label}: end the subscription of “${own.subscriber}” to “${own.topic}”? What waits for it is lost.`, "subscribers/unsubscribe",
    { topic: own.topic, subscriber: own.subscriber }, () => "The subscription has ended.");
}
function ask(question, label) {
  const dialog = document.getElementById("ask");
  document.getElementById("question").textContent = question;
  document.getElementById("yes").textContent = label;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}
function say(text) {
  const said = document.getElementById("said");
  said.replaceChildren(make("p", {}, text));
  clearTimeout(say.timer);
  say.timer = setTimeout(() => said.replaceChildren(), 8000);
}
function headers(more) {
  return page.token ? { Authorization: `Bearer ${page.token}`, ...more } : { ...more };
}
async function send(path, body) {
  const token = page.snapshot.rights.change_token || "";
  try {
    const answer = await fetch(`api/v1/${path}`, { method: "POST", headers: headers({ "Content-Type": "application/json", "Floe-Change-Token": token }), body: JSON.stringify(body) });
    return { ok: answer.ok, value: await answer.json() };
  } catch (error) {
    return { ok: false, value: { error: `the server did not answer: ${error.message}` } };
  }
}
async function read(path) {
  const answer = await fetch(`api/v1/${path}`, { headers: headers() });
  return { ok: answer.ok, value: await answer.json() };
}
async function showLetters(topic, dead) {
  try {
    const { ok, value } = await read(`dead-letters?topic=${encodeURIComponent(topic)}&dead_letter_topic=${encodeURIComponent(dead)}`);
    if (ok) page.letters = value;
    else say(value.error);
    draw();
  } catch (error) {
    say(`the server did not answer: ${error.message}`);
  }
}
async function readDetail() {
  const name = page.topic;
  try {
    const { value } = await read(`topic?name=${encodeURIComponent(name)}`);
    if (name === page.topic) page.detail = { name, ...value };
  } catch {
    // The stream says that the server is away.
  }
  draw();
}

// ---- the stream

function later(work) {
  clearTimeout(later.timer);
  later.timer = setTimeout(work, 250);
}

// Reads events from here on, in place of the stream that there was. `fetch` and not `EventSource`, which cannot send a token.
async function connect() {
  if (page.stream) page.stream.abort();
  clearTimeout(page.retry);
  const stream = page.stream = new AbortController();
  const query = new URLSearchParams({ filter: page.filter, sort: page.sort, limit: page.limit });
  try {
    const answer = await fetch(`api/v1/events?${query}`, { headers: headers(), signal: stream.signal });
    if (!answer.ok) {
      const { error } = await answer.json();
      if (answer.status === 401 || answer.status === 403) return refuse(error);
      throw new Error(error);
    }
    document.getElementById("login").hidden = true;
    await events(answer.body.getReader());
    throw new Error("the stream has ended");
  } catch (error) {
    if (stream.signal.aborted) return;
    show(`away: ${error.message}`, "bad");
    document.body.classList.add("stale");
    page.retry = setTimeout(connect, 1000);
  }
}
async function events(reader) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const fields = new Map(text.slice(0, end).split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
      text = text.slice(end + 2);
      const data = JSON.parse(fields.get("data"));
      if (fields.get("event") === "snapshot") take(data);
      if (fields.get("event") === "refused") { refuse(data.error); return; }
    }
  }
}
function take(snapshot) {
  learn(snapshot);
  page.before = page.snapshot;
  page.snapshot = snapshot;
  document.body.classList.remove("stale");
  const findings = snapshot.findings.length;
  if (!snapshot.hub && !snapshot.gateway) show("the hub has ended", "bad");
  else show(findings ? `${findings} ${findings === 1 ? "finding" : "findings"}` : "all is well", findings ? "warn" : "good");
  document.getElementById("where").textContent = snapshot.hub ? snapshot.hub.topic_manager : "";
  document.getElementById("who").textContent = `${snapshot.rights.user}${snapshot.rights.may_change ? "" : ", read-only"}`;
  if (page.topic !== null) readDetail();
  draw();
}
function show(text, kind) {
  const badge = document.getElementById("state");
  if (badge.textContent !== text) badge.textContent = text;
  badge.className = `badge ${kind}`;
}
function refuse(reason) {
  show("refused", "bad");
  page.snapshot = null;
  document.getElementById("view").replaceChildren();
  document.getElementById("refusal").textContent = reason;
  document.getElementById("login").hidden = false;
}

// ---- the page

function draw() {
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = link.getAttribute("href") === `#${page.view}`;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const snapshot = page.snapshot;
  if (!snapshot) return;
  const view = document.getElementById("view");
  // Whoever reads or types goes on doing so: the focus, its caret and what was scrolled stay.
  const active = document.activeElement;
  const caret = active && active.id === "filter" ? [active.selectionStart, active.selectionEnd] : null;
  const key = active && active.dataset ? active.dataset.key : null;
  const target = active && active.tagName === "A" && view.contains(active) ? active.getAttribute("href") : null;
  const region = active && active.classList.contains("scroll") ? active.getAttribute("aria-label") : null;
  const scrolled = [...view.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  view.replaceChildren(...SHOWN[page.view](snapshot));
  view.querySelectorAll(".scroll").forEach((each, index) => { each.scrollLeft = scrolled[index] || 0; });
  if (caret) {
    const filter = document.getElementById("filter");
    if (filter) { filter.focus(); filter.setSelectionRange(...caret); }
  } else if (key || target || region) {
    const same = [...view.querySelectorAll("[data-key], a, .scroll")].find((each) =>
      (key && each.dataset.key === key) || (target && each.getAttribute("href") === target) || (region && each.getAttribute("aria-label") === region));
    if (same) same.focus({ preventScroll: true });
  }
}
function go() {
  const [view, topic] = location.hash.slice(1).split("/");
  page.view = VIEWS.some(([name]) => name === view) ? view : "overview";
  let name = null;
  try { name = topic === undefined ? null : decodeURIComponent(topic); } catch { /* no name */ }
  page.topic = page.view === "topics" ? name : null;
  page.detail = null;
  document.title = `${VIEWS.find(([own]) => own === page.view)[1]} – Floe console`;
  if (page.topic !== null) readDetail();
  draw();
}

document.getElementById("views").append(...VIEWS.map(([name, title]) => make("li", {}, make("a", { href: `#${name}` }, title))));
document.getElementById("login").addEventListener("submit", (event) => {
  event.preventDefault();
  page.token = document.getElementById("token").value.trim();
  document.getElementById("token").value = "";
  connect();
});
window.addEventListener("hashchange", () => {
  // The link that skips to the content names no view.
  if (location.hash !== "#main") { go(); document.getElementById("main").focus({ preventScroll: true }); }
});
go();
connect();
