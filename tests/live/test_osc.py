"""OSC packets: by hand from the protocol's text, read and written by python-osc, and broken in every manner."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pythonosc.osc_bundle import OscBundle
from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
from pythonosc.osc_message import OscMessage
from pythonosc.osc_message_builder import OscMessageBuilder

from posable.live import osc
from posable.live.osc import Message, OscError, bundle, decode, encode, packets

from ..counts import rows

# The two messages that the text of OSC 1.0 spells out, byte by byte.
OSCILLATOR = bytes.fromhex("2f6f7363 696c6c61 746f722f 342f6672 65717565 6e637900 2c660000 43dc0000")
FOO = bytes.fromhex(
    "2f666f6f 00000000 2c696973 66660000 000003e8 ffffffff 68656c6c 6f000000 3f9df3b6 40b5b22d"
)  # fmt: skip


def test_the_examples_of_the_specification_are_read_and_written():
    assert decode(OSCILLATOR) == [Message("/oscillator/4/frequency", (440.0,))]
    assert encode("/oscillator/4/frequency", 440.0) == OSCILLATOR
    ((address, arguments),) = decode(FOO)
    assert address == "/foo" and arguments[:3] == (1000, -1, "hello")
    assert arguments[3:] == pytest.approx((1.234, 5.678), rel=1e-6)
    assert encode("/foo", 1000, -1, "hello", 1.234, 5.678) == FOO


def test_every_type_by_hand():
    packet = b"/a\0\0,ifsbTFNIdht\0\0\0\0" + struct.pack(">if", -5, 0.5) + b"caf\xc3\xa9\0\0\0"
    packet += struct.pack(">I", 3) + b"\x01\x02\x03\0" + struct.pack(">dqQ", 1e300, -(2**40), 2**63)
    ((_, read),) = decode(packet)
    assert read == (-5, 0.5, "café", b"\x01\x02\x03", True, False, None, math.inf, 1e300, -(2**40), 2**63)
    assert encode("/a", *read, types="ifsbTFNIdht") == packet


def test_a_message_without_types_has_no_arguments():
    assert decode(b"/old\0\0\0\0") == [Message("/old")]


def test_bundles_lie_in_bundles_and_time_tags_are_read_over():
    inner = b"#bundle\0" + struct.pack(">Q", 2**60) + struct.pack(">I", len(FOO)) + FOO
    outer = b"#bundle\0" + struct.pack(">Q", 7)
    for element in (OSCILLATOR, inner, OSCILLATOR):
        outer += struct.pack(">I", len(element)) + element
    assert [message.address for message in decode(outer)] == [
        "/oscillator/4/frequency",
        "/foo",
        "/oscillator/4/frequency",
    ]
    assert bundle([])[8:] == b"\0\0\0\0\0\0\0\x01"
    assert decode(bundle([])) == []


texts = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=40)
arguments = st.lists(
    st.one_of(
        st.integers(-(2**31), 2**31 - 1),
        st.floats(width=32, allow_nan=False),
        texts,
        st.binary(min_size=1, max_size=30),
        st.booleans(),
        st.none(),
    ),
    max_size=9,
)
addresses = st.text("abcXYZ019/_-", min_size=1, max_size=30).map(lambda text: "/" + text)


@given(addresses, arguments)
def test_python_osc_reads_what_we_write(address, values):
    message = OscMessage(encode(address, *values))
    assert message.address == address
    assert list(message.params) == values


@given(addresses, arguments)
def test_we_read_what_python_osc_writes(address, values):
    builder = OscMessageBuilder(address)
    for value in values:
        builder.add_arg(value)
    outer = OscBundleBuilder(IMMEDIATELY)
    outer.add_content(builder.build())
    outer.add_content(builder.build())
    assert decode(outer.build().dgram) == [Message(address, tuple(values))] * 2


@given(st.lists(st.tuples(addresses, arguments), min_size=1, max_size=60))
def test_packets_are_split_in_order_and_small_enough(messages):
    encoded = [encode(address, *values) for address, values in messages]
    found = packets(encoded)
    assert all(len(packet) <= max(osc.LIMIT, 20 + max(map(len, encoded))) for packet in found)
    read = [message for packet in found for message in decode(packet)]
    assert [message.address for message in read] == [address for address, _ in messages]
    assert sum(len(list(OscBundle(packet))) for packet in found) == len(messages)


@given(st.binary(max_size=400))
def test_any_bytes_are_messages_or_one_kind_of_error(noise):
    for packet in (noise, b"/a\0\0," + noise, b"#bundle\0" + noise):
        try:
            read = decode(packet)
        except OscError:
            continue
        assert len(read) <= len(packet) / 4


@pytest.mark.parametrize("seed", range(4))
def test_good_packets_cut_short_and_scrambled(seed):
    import random

    draw = random.Random(seed)
    good = bundle([FOO, bundle([OSCILLATOR, FOO]), encode("/b", b"1234567", "text", 2**40)])
    count, refused = rows(3000), 0
    for _ in range(count):
        packet = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            packet[draw.randrange(len(packet))] = draw.randrange(256)
        cut = bytes(packet[: draw.randrange(len(packet) + 1)]) if draw.random() < 0.5 else bytes(packet)
        try:
            assert len(decode(cut)) <= len(cut) / 4
        except OscError:
            refused += 1
    assert 0 < refused < count  # some are whole, and any other error would have ended the test


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (b"", "multiple of 4"),
        (b"GET / HTTP/1.1\r\n", "expected an address"),
        (b"/a\0\0,i\0\0", "unpack"),
        (b"/a\0\0,q\0\0", "type 'q'"),
        (b"/a\0\0,s\0\0abcd", "no end"),
        (b"/a\0\0,b\0\0\x7f\xff\xff\xff", "a blob has 2147483647 bytes"),
        (b"/a\0\0,T\0\0abcd", "do not end where it does"),
        (b"/\xff\0\0,T\0\0", "broken"),
        (b"#bundle\0abcd", "before its time tag"),
        (b"#bundle\0" + bytes(8) + b"\xff\xff\xff\xfc", "-4 bytes"),
        (b"#bundle\0" + bytes(8) + bytes(4), "0 bytes"),
        (bytes(70000), "70000 bytes"),
    ],
)
def test_what_is_wrong_with_a_packet_is_named(packet, message):
    with pytest.raises(OscError, match=message):
        decode(packet)


def test_a_message_of_a_bundle_with_an_unknown_type_is_left_out_alone():
    """So says OSC 1.0 of type tags: the message is discarded, not its neighbours."""
    colour = b"/colour\0,r\0\0\xff\0\0\xff"
    assert decode(bundle([FOO, colour, bundle([colour, OSCILLATOR])])) == [*decode(FOO), *decode(OSCILLATOR)]
    with pytest.raises(OscError, match="type 'r'"):
        decode(colour)


def test_bundles_nested_too_deeply_are_refused():
    packet = FOO
    for _ in range(osc.DEEPEST):
        packet = bundle([packet])
    assert len(decode(packet)) == 1
    with pytest.raises(OscError, match="deep"):
        decode(bundle([packet]))


def test_lists_of_types_do_not_fill_the_memory():
    for k in range(3 * osc.PLANS):
        decode(b"/a\0\0" + osc._padded(b"," + b"T" * (k % 50) + f"{k:b}".replace("0", "T").replace("1", "F").encode()))
    assert len(osc._plans) <= osc.PLANS


@pytest.mark.parametrize(
    ("arguments", "types"),
    [(("nobegin",), None), (("/a", object()), None), (("/a", 1, 2), "i"), (("/a", "x"), "i"), (("/a", 2**40), "i")],
)
def test_what_cannot_be_written_is_an_error(arguments, types):
    with pytest.raises(OscError):
        encode(*arguments, types=types)
