"""Frontdesk in the place of the calendar of LiveKit's front-desk example.

Put this file beside frontdesk_agent.py of https://github.com/livekit/agents/tree/main/examples/frontdesk, and in
the place of CalComCalendar use

    cal = FrontdeskCalendar(url="https://frontdesk.example.com", api_key=os.environ["FRONTDESK_API_KEY"])
"""

import asyncio
import datetime
import json
import urllib.error
import urllib.request
import uuid

from calendar_api import AvailableSlot, Calendar, SlotUnavailableError

LONGEST_WINDOW = datetime.timedelta(days=60)


class FrontdeskCalendar(Calendar):
    def __init__(self, *, url: str, api_key: str, duration_min: int = 30, title: str = "Appointment") -> None:
        self._url, self._key, self._duration, self._title = url.rstrip("/"), api_key, duration_min, title
        self._slot_ids: dict[datetime.datetime, str] = {}
        self._keys: dict[tuple[str, str], str] = {}  # of what was booked in this conversation

    async def initialize(self) -> None:
        verified = await self._call("/v1/calendar/verify-calendar-connection", {})
        if not verified["ok"]:
            raise ConnectionError("the calendar of this API key is not connected")

    async def list_available_slots(
        self, *, start_time: datetime.datetime, end_time: datetime.datetime
    ) -> list[AvailableSlot]:
        slots: list[AvailableSlot] = []
        while start_time < end_time:
            until = min(end_time, start_time + LONGEST_WINDOW)
            window = {"start": start_time.isoformat(), "end": until.isoformat()}
            found = await self._call(
                "/alpha/calendar/find-slots", {**window, "duration_minutes": self._duration, "limit": 25, "per_day": 3}
            )
            for slot in found["slots"]:
                start = datetime.datetime.fromisoformat(slot["start"].replace("Z", "+00:00"))  # Python 3.10 takes no Z
                self._slot_ids[start] = slot["slot_id"]
                slots.append(AvailableSlot(start_time=start, duration_min=self._duration))
            start_time = until
        return slots

    async def schedule_appointment(self, *, start_time: datetime.datetime, attendee_email: str) -> None:
        if start_time not in self._slot_ids:
            raise SlotUnavailableError(f"nobody was offered {start_time.isoformat()}")
        slot_id = self._slot_ids[start_time]
        booking = {"slot_id": slot_id, "title": self._title, "attendee_emails": [attendee_email]}
        # A model that asks again is told of the same appointment, and not that the slot is taken.
        key = self._keys.setdefault((slot_id, attendee_email), str(uuid.uuid4()))
        try:
            await self._call("/alpha/calendar/book-slot", booking, key=key)
        except urllib.error.HTTPError as refusal:
            told = refusal.read()  # a proxy's need not be JSON
            if b'"SLOT_TAKEN"' in told:
                raise SlotUnavailableError(json.loads(told)["message"]) from None
            raise

    async def _call(self, path: str, body: dict, key: str = "") -> dict:
        headers = {"X-Api-Key": self._key, "Content-Type": "application/json", "X-Request-Timeout-Ms": "10000"}
        if key:  # so that a repeat books nothing twice
            headers["Idempotency-Key"] = key
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers)
        for left in (2, 1, 0):
            try:
                return await asyncio.to_thread(lambda: json.load(urllib.request.urlopen(request, timeout=12)))
            except urllib.error.HTTPError as refusal:
                wait = refusal.headers.get("Retry-After", "")  # without one, a repeat cannot help
                if left == 0 or not wait.isdecimal() or int(wait) > 2:
                    raise
                await asyncio.sleep(int(wait))
            except OSError:  # no answer came
                if left == 0:
                    raise
        raise AssertionError("unreachable")
