"""Run against a gateway with the demo's sandbox, which GATEWAY_URL and GATEWAY_KEY name."""

import datetime
import io
import os
import sys
import types
import unittest
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Protocol
from unittest import mock


@dataclass
class AvailableSlot:
    start_time: datetime.datetime
    duration_min: int


class SlotUnavailableError(Exception):
    pass


class Calendar(Protocol):
    async def initialize(self) -> None: ...
    async def schedule_appointment(self, *, start_time: datetime.datetime, attendee_email: str) -> None: ...
    async def list_available_slots(
        self, *, start_time: datetime.datetime, end_time: datetime.datetime
    ) -> list[AvailableSlot]: ...


# What LiveKit's example has in calendar_api.py.
sys.modules["calendar_api"] = types.SimpleNamespace(
    AvailableSlot=AvailableSlot, Calendar=Calendar, SlotUnavailableError=SlotUnavailableError
)

from frontdesk_calendar import FrontdeskCalendar  # noqa: E402


class TestFrontdeskCalendar(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.cal = FrontdeskCalendar(url=os.environ["GATEWAY_URL"] + "/", api_key=os.environ["GATEWAY_KEY"])
        await self.cal.initialize()
        self.now = datetime.datetime.now(datetime.timezone.utc)

    async def slots(self, days: int) -> list[AvailableSlot]:
        return await self.cal.list_available_slots(
            start_time=self.now, end_time=self.now + datetime.timedelta(days=days)
        )

    async def test_an_appointment_is_scheduled_once(self) -> None:
        first = (await self.slots(14))[0]
        self.assertEqual(first.duration_min, 30)
        await self.cal.schedule_appointment(start_time=first.start_time, attendee_email="pat@example.com")
        with self.assertRaises(SlotUnavailableError):
            await self.cal.schedule_appointment(start_time=first.start_time, attendee_email="kim@example.com")
        self.assertNotIn(first.start_time, [slot.start_time for slot in await self.slots(14)])

    async def test_who_asks_again_after_lost_answers_is_told_of_the_appointment(self) -> None:
        slot, urlopen = (await self.slots(14))[0], urllib.request.urlopen

        def lost(*args, **kwargs):
            urlopen(*args, **kwargs)
            raise OSError("the answer is lost")

        booking = {"start_time": slot.start_time, "attendee_email": "pat@example.com"}
        with mock.patch("urllib.request.urlopen", side_effect=lost), self.assertRaises(OSError):
            await self.cal.schedule_appointment(**booking)
        await self.cal.schedule_appointment(**booking)
        with self.assertRaises(SlotUnavailableError):
            await self.cal.schedule_appointment(**{**booking, "attendee_email": "kim@example.com"})

    async def test_a_window_of_90_days(self) -> None:
        slots = await self.slots(90)
        self.assertEqual(slots, sorted(slots, key=lambda slot: slot.start_time))
        self.assertGreater(slots[-1].start_time, self.now + datetime.timedelta(days=60))

    async def test_what_was_not_offered_is_not_booked(self) -> None:
        with self.assertRaises(SlotUnavailableError):
            await self.cal.schedule_appointment(start_time=self.now, attendee_email="pat@example.com")

    async def test_a_start_in_utc_is_read_by_python_3_10(self) -> None:
        class Before311(datetime.datetime):
            @classmethod
            def fromisoformat(cls, text: str) -> datetime.datetime:
                if text.endswith("Z"):
                    raise ValueError(text)
                return datetime.datetime.fromisoformat(text)

        async def call(path: str, body: dict) -> dict:
            return {"slots": [{"slot_id": "st_1", "start": "2026-12-01T09:00:00Z"}]}

        old = types.SimpleNamespace(datetime=Before311, timedelta=datetime.timedelta)
        with mock.patch("frontdesk_calendar.datetime", old), mock.patch.object(self.cal, "_call", call):
            start = (await self.slots(14))[0].start_time
        self.assertEqual(start, datetime.datetime(2026, 12, 1, 9, tzinfo=datetime.timezone.utc))

    async def test_a_proxy_that_refuses_is_told_as_it_is(self) -> None:
        slot = (await self.slots(14))[0]
        later = {"Retry-After": "Thu, 01 Jan 2099 00:00:00 GMT"}
        refusal = urllib.error.HTTPError(self.cal._url, 503, "No", later, io.BytesIO(b"<html>"))
        with mock.patch("urllib.request.urlopen", side_effect=refusal), self.assertRaises(urllib.error.HTTPError):
            await self.cal.schedule_appointment(start_time=slot.start_time, attendee_email="pat@example.com")


if __name__ == "__main__":
    unittest.main()
