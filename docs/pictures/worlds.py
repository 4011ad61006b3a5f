#!/usr/bin/env python3
"""Draws docs/pictures/worlds.svg: programs of five worlds at one topic.

    python3 docs/pictures/worlds.py

Only the standard library is used.
"""

import pathlib

WORLDS = [
    ("JMS", "Qpid JMS, Proton", "AMQP 1.0"),
    ("CORBA", "omniORB, omniEvents", "IIOP"),
    ("DDS", "Cyclone DDS", "RTPS"),
    ("SOAP", "zeep, gSOAP", "WS-Notification"),
    ("Ice, Floe", "any language", "the Ice protocol"),
]
WIDTH, HEIGHT, ROW = 860, 400, 76


def main():
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="programs of five worlds publish to one topic of a hub and get its events">',
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        '<g font-family="system-ui,sans-serif" text-anchor="middle" fill="#1f2328">',
        '<rect x="400" y="10" width="440" height="380" rx="10" fill="#f6f8fa" stroke="#57606a"/>',
        '<text x="620" y="34" font-size="15" font-weight="bold">floe serve</text>',
        '<rect x="660" y="150" width="160" height="100" rx="8" fill="#ddf4ff" stroke="#0969da"/>',
        '<text x="740" y="190" font-size="15" font-weight="bold">topic ticks</text>',
        '<text x="740" y="214" font-size="12">one contract, in Slice</text>',
    ]
    for index, (world, programs, protocol) in enumerate(WORLDS):
        y = 12 + ROW * index
        middle = y + 32
        out.append(f'<rect x="16" y="{y}" width="200" height="64" rx="8" fill="#fff8c5" stroke="#9a6700"/>')
        out.append(f'<text x="116" y="{y + 27}" font-size="15" font-weight="bold">{world}</text>')
        out.append(f'<text x="116" y="{y + 48}" font-size="12">{programs}</text>')
        is_bridged = index < 4
        # Ice programs need no bridge.
        way = f"M220 {middle}H422" if is_bridged else f"M220 {middle}H740V254"
        out.append(
            f'<path d="{way}" fill="none" stroke="#57606a" marker-start="url(#end)" marker-end="url(#end)"/>'
        )
        out.append(f'<text x="310" y="{middle - 8}" font-size="12">{protocol}</text>')
        if is_bridged:
            out.append(f'<rect x="426" y="{middle - 20}" width="120" height="40" rx="8" fill="#ddf4ff" stroke="#0969da"/>')
            out.append(f'<text x="486" y="{middle + 5}" font-size="13">bridge</text>')
            out.append(
                f'<line x1="550" y1="{middle}" x2="656" y2="{170 + 18 * index}" stroke="#57606a" '
                'marker-start="url(#end)" marker-end="url(#end)"/>'
            )
    picture = pathlib.Path(__file__).with_name("worlds.svg")
    picture.write_text("\n".join(out + ["</g>", "</svg>", ""]))
    print(f"wrote {picture.name}")


if __name__ == "__main__":
    main()
