//! The recorded session of Ice 3.7.8, and peers that violate the protocol.

use proptest::prelude::*;

use super::*;

/// A recorded write of a session.
fn vector(name: &str) -> Vec<u8> {
    const FILE: &str = include_str!("../../../../tests/vectors/websocket.json");
    let file: serde_json::Value = serde_json::from_str(FILE).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    let vector = vectors.iter().find(|vector| vector["name"] == name);
    let hex = vector.unwrap()["hex"].as_str().unwrap();
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Everything that a reader decodes from bytes that arrive `step` at a time.
fn read_all(
    side: Side,
    bytes: &[u8],
    step: usize,
) -> Result<(Vec<u8>, Vec<Incoming>), WebSocketError> {
    let mut reader = FrameReader::new(side);
    let (mut payload, mut events) = (Vec::new(), Vec::new());
    let mut input = Vec::new();
    for chunk in bytes.chunks(step) {
        input.extend_from_slice(chunk);
        loop {
            let mut output = [0; 7];
            let (count, event) = reader.read(&input, &mut output)?;
            input.drain(..count);
            match event {
                Some(Incoming::Data(len)) => payload.extend_from_slice(&output[..len]),
                Some(event) => events.push(event),
                None if count == 0 => break,
                None => {}
            }
        }
    }
    Ok((payload, events))
}

#[test]
fn the_recorded_opening_is_sent_and_answered_in_the_same_bytes() {
    let (request, response) = (vector("ws_00_client"), vector("ws_01_server"));
    let key = b"ohioMTNxkYkpSBy9ZL00ww==";
    let random = crate::base64::decode(std::str::from_utf8(key).unwrap()).unwrap();
    let key = Key::from_random(random.try_into().unwrap());
    let mut sent = Vec::new();
    append_request(&mut sent, "127.0.0.1", 36045, "/demo", &key).unwrap();
    assert_eq!(sent, request);
    assert_eq!(head_len(&request, 0).unwrap(), Some(request.len()));
    assert_eq!(head_len(&request[..request.len() - 1], 0).unwrap(), None);

    let mut answer = Vec::new();
    append_response(&mut answer, &check_request(&request).unwrap());
    assert_eq!(answer, response);
    check_response(&response, &key).unwrap();
    let other = Key::from_random([7; 16]);
    let error = check_response(&response, &other).unwrap_err().to_string();
    let expected = "belongs to our key, got \"sec-websocket-accept: ";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_host_or_a_resource_cannot_begin_another_request() {
    let key = Key::from_random([7; 16]);
    for hostile in [
        "/ HTTP/1.1\r\nHost: x\r\n\r\nPOST /admin",
        "/a b",
        "/\n",
        "\u{7f}",
    ] {
        for (host, resource, expected) in [
            ("127.0.0.1", hostile, "expected a resource without spaces"),
            (hostile, "/", "expected a host without spaces"),
        ] {
            let mut sent = Vec::new();
            let refused = append_request(&mut sent, host, 80, resource, &key).unwrap_err();
            let refused = refused.to_string();
            assert!(refused.starts_with(expected), "{refused}");
            assert!(sent.is_empty());
        }
    }
}

#[test]
fn the_recorded_frames_are_read_and_written_in_the_same_bytes() {
    let (payload, _) = read_all(Side::Client, &vector("ws_02_server"), 100).unwrap();
    assert_eq!(payload, crate::message::VALIDATE_CONNECTION);
    for name in ["ws_03_client", "ws_05_client", "ws_07_client"] {
        let bytes = vector(name);
        for step in [1, 3, 1000] {
            let (payload, events) = read_all(Side::Server, &bytes, step).unwrap();
            assert_eq!((&payload[..4], events.len()), (&b"IceP"[..], 0), "{name}");
            let mask = bytes[2..6].try_into().unwrap();
            let mut written = Vec::new();
            append_data_header(&mut written, payload.len(), Some(mask));
            append_masked(&mut written, &payload, mask, 0);
            assert_eq!(written, bytes, "{name}");
        }
    }
    let mut close = Vec::new();
    append_control(&mut close, Opcode::Close, &CLOSE_NORMAL.to_be_bytes(), None);
    assert_eq!(close, vector("ws_08_server"));
    let closed = read_all(Side::Server, &vector("ws_09_client"), 1).unwrap();
    // Ice answers that its side goes away.
    assert_eq!(closed.1, [Incoming::Close(Some(1001))]);
}

#[test]
fn a_message_may_span_frames_with_control_frames_between() {
    let mut bytes = vec![0x02, 3, b'I', b'c', b'e'];
    append_control(&mut bytes, Opcode::Ping, b"still there?", None);
    bytes.extend([0x00, 1, b'P']);
    append_control(&mut bytes, Opcode::Pong, b"", None);
    bytes.extend([0x80, 2, b'!', b'?']);
    for step in 1..bytes.len() {
        let (payload, events) = read_all(Side::Client, &bytes, step).unwrap();
        assert_eq!(payload, b"IceP!?");
        assert_eq!(
            events,
            [Incoming::Ping(b"still there?".to_vec()), Incoming::Pong]
        );
    }
}

#[test]
fn frames_that_break_the_rules_are_refused() {
    for (side, bytes, expected) in [
        (
            Side::Server,
            &[0x82, 1, b'x'][..],
            "a masked frame from a client",
        ),
        (
            Side::Client,
            &[0x82, 0x81, 0, 0, 0, 0, b'x'],
            "a frame without a mask",
        ),
        (
            Side::Client,
            &[0x81, 1, b'x'],
            "binary data or a control frame",
        ),
        (Side::Client, &[0xC2, 1, b'x'], "without extensions"),
        (
            Side::Client,
            &[0x83, 1, b'x'],
            "binary data or a control frame",
        ),
        (Side::Client, &[0x82, 0], "a data frame that is not empty"),
        (
            Side::Client,
            &[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
            "a length of at most 63 bits",
        ),
        (Side::Client, &[0x09, 0], "a control frame in one piece"),
        (Side::Client, &[0x89, 126, 0, 126], "at most 125 bytes"),
        (
            Side::Client,
            &[0x88, 1, 0],
            "a close frame with a code or nothing",
        ),
        (
            Side::Client,
            &[0x80, 1, b'x'],
            "a message before more of it",
        ),
        (
            Side::Client,
            &[0x02, 1, b'x', 0x82, 1, b'x'],
            "more of the message",
        ),
    ] {
        let error = read_all(side, bytes, 100).unwrap_err().to_string();
        assert!(error.contains(expected), "{bytes:?}: {error}");
    }
}

#[test]
fn openings_that_break_the_rules_are_refused() {
    let good = String::from_utf8(vector("ws_00_client")).unwrap();
    check_request(good.as_bytes()).unwrap();
    let without = good.replace("Sec-WebSocket-Protocol: ice.zeroc.com\r\n", "");
    let mut answer = Vec::new();
    append_response(&mut answer, &check_request(without.as_bytes()).unwrap());
    assert!(!String::from_utf8(answer).unwrap().contains("Protocol:"));
    for (from, to, expected) in [
        ("GET /demo", "POST /demo", "`GET <resource> HTTP/1.1`"),
        ("HTTP/1.1", "HTTP/1.0", "`GET <resource> HTTP/1.1`"),
        ("Upgrade: websocket\r\n", "", "the header `Upgrade"),
        (
            "Connection: Upgrade",
            "Connection: close",
            "the header `Connection",
        ),
        ("Version: 13", "Version: 8", "`Sec-WebSocket-Version: 13`"),
        ("ice.zeroc.com", "ice.zeroc.com, chat", "and no other"),
        ("ohioMTNxkYkpSBy9ZL00ww==", "b2hpbw==", "16 bytes in base64"),
        ("Host: 127.0.0.1:36045", "Host", "a header line"),
        (
            "Host: ",
            "Sec-WebSocket-Key: ohioMTNxkYkpSBy9ZL00ww==\r\nHost: ",
            "16 bytes in base64",
        ),
        (
            "Host: ",
            "Upgrade: websocket\r\nHost: ",
            "the header `Upgrade",
        ),
        (
            "Host: ",
            "Sec-WebSocket-Version: 13\r\nHost: ",
            "`Sec-WebSocket-Version: 13`",
        ),
        (
            "Host: ",
            "Sec-WebSocket-Protocol: chat\r\nHost: ",
            "and no other",
        ),
        ("ice.zeroc.com", "ice.zeroc.com\u{e9}", "and no other"),
    ] {
        let bad = good.replacen(from, to, 1);
        let error = check_request(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{bad}: {error}");
    }
    let key = Key::from_random([0; 16]);
    let error = check_response(b"HTTP/1.1 404 Not Found\r\n\r\n", &key)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "expected the response `HTTP/1.1 101 Switching Protocols`, got \"HTTP/1.1 404 Not Found\""
    );
    let endless = vec![b'x'; HEADER_LEN_MAX];
    assert!(
        head_len(&endless, 0)
            .unwrap_err()
            .to_string()
            .contains("at most 16384 bytes")
    );
}

#[test]
fn a_part_of_an_opening_that_was_searched_is_not_searched_again() {
    assert_eq!(head_len(b"\r\n\r\nxyz", 0).unwrap(), Some(4));
    assert_eq!(head_len(b"\r\n\r\nxyz", 7).unwrap(), None);
}

/// Ice 3.7.8 accepted each of these.
#[test]
fn openings_in_other_spellings_are_accepted() {
    let request = vector("ws_00_client");
    let plain = check_request(&request).unwrap();
    for (from, to) in [
        ("ice.zeroc.com", "Ice.ZeroC.COM"),
        ("ice.zeroc.com", "ice.zeroc.com,"),
        ("ice.zeroc.com", ", ice.zeroc.com,ICE.zeroc.com"),
        ("Host: ", "Sec-WebSocket-Protocol:\r\nHost: "),
        ("Host: ", "Sec-WebSocket-Protocol: ice.zeroc.com\r\nHost: "),
        ("Host: ", "Connection: keep-alive\r\nHost: "),
        ("Host: ", "Sec-WebSocket-Key:\r\nHost: "),
        ("/demo", "/d\u{e9}mo"),
        ("Host: ", "X: \u{e9}\r\nHost: "),
        ("\r\n", "\n"),
        ("\r\n\r\n", "\n\r\n"),
        ("\r\n\r\n", "\r\n\n"),
    ] {
        let written = String::from_utf8(request.clone())
            .unwrap()
            .replace(from, to);
        // ISO 8859-1, in which an accented letter is a byte that is not valid UTF-8.
        let mut bytes: Vec<u8> = written
            .chars()
            .map(|it| u8::try_from(it).unwrap())
            .collect();
        let len = bytes.len();
        bytes.extend(b"\n\n");
        assert_eq!(head_len(&bytes, 0).unwrap(), Some(len), "{written}");
        for short in 0..len {
            assert_eq!(head_len(&bytes[..short], 0).unwrap(), None, "{written}");
        }
        assert_eq!(check_request(&bytes[..len]).unwrap(), plain, "{written}");
    }
    let nameless = String::from_utf8(request)
        .unwrap()
        .replace("ice.zeroc.com", ",");
    let mut answer = Vec::new();
    append_response(&mut answer, &check_request(nameless.as_bytes()).unwrap());
    assert!(!String::from_utf8(answer).unwrap().contains("Protocol:"));
}

/// Ice 3.7.8 accepted each of these.
#[test]
fn responses_in_other_spellings_are_accepted() {
    let random = crate::base64::decode("ohioMTNxkYkpSBy9ZL00ww==").unwrap();
    let key = Key::from_random(random.try_into().unwrap());
    let response = String::from_utf8(vector("ws_01_server")).unwrap();
    for (from, to) in [
        ("ice.zeroc.com", "Ice.ZeroC.Com"),
        ("Upgrade: ", "Server: \u{e9}\r\nUpgrade: "),
        ("\r\n", "\n"),
    ] {
        let written = response.replace(from, to);
        let bytes: Vec<u8> = written
            .chars()
            .map(|it| u8::try_from(it).unwrap())
            .collect();
        assert_eq!(head_len(&bytes, 0).unwrap(), Some(bytes.len()));
        check_response(&bytes, &key).unwrap();
    }
    let other = response.replace("ice.zeroc.com", "chat");
    let error = check_response(other.as_bytes(), &key).unwrap_err();
    assert!(error.to_string().contains("and no other"), "{error}");
}

proptest! {
    #[test]
    fn payload_survives_its_frames(
        payload in proptest::collection::vec(any::<u8>(), 1..70_000),
        mask: Mask,
        step in 1..5000_usize,
    ) {
        let mut bytes = Vec::new();
        append_data_header(&mut bytes, payload.len(), Some(mask));
        append_masked(&mut bytes, &payload, mask, 0);
        let (read, events) = read_all(Side::Server, &bytes, step).unwrap();
        prop_assert!(read == payload && events.is_empty());
    }

    #[test]
    fn hostile_bytes_never_panic_or_take_more_than_the_input(bytes: Vec<u8>) {
        for side in [Side::Client, Side::Server] {
            let _ = read_all(side, &bytes, 3);
        }
        let _ = check_request(&bytes);
        let _ = check_response(&bytes, &Key::from_random([1; 16]));
        let _ = head_len(&bytes, 0);
    }

    /// Few bytes are anything else than the ends of lines.
    #[test]
    fn the_end_of_an_opening_is_found_however_it_comes(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'x')], 0..12),
        ends: Vec<prop::sample::Index>,
    ) {
        let whole = head_len(&bytes, 0).unwrap();
        let mut ends: Vec<_> = ends.iter().map(|end| end.index(bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let mut searched_len = 0;
        let mut found = None;
        for end in ends {
            found = head_len(&bytes[..end], searched_len).unwrap();
            if found.is_some() {
                break;
            }
            searched_len = end;
        }
        prop_assert_eq!(found, whole);
    }
}
