// The baseline in Node.js: list-events by Google's own library behind Express. node.go starts it.
const { createRequire } = require("node:module");
const load = createRequire(process.env.BENCH_MODULES + "/");
const express = load("express");
const google = load("@googleapis/calendar");

const auth = new google.auth.OAuth2();
auth.setCredentials({ access_token: process.env.BENCH_TOKEN, expiry_date: Date.now() + 24 * 3600 * 1000 });
const calendar = google.calendar({ version: "v3", auth, rootUrl: process.env.BENCH_PROVIDER + "/" });
const query = Object.fromEntries(new URL(process.env.BENCH_REQUEST, process.env.BENCH_PROVIDER).searchParams);
delete query.alt;
delete query.prettyPrint;

const app = express();
app.use(express.json());
app.post("/v1/calendar/list-events", async (request, response) => {
  try {
    const calendarId = request.body.selected_calendar_ids[0];
    const { data } = await calendar.events.list({ ...query, calendarId });
    const events = data.items.map((e) => ({
      event_id: e.id,
      subject: e.summary ?? "",
      start_time: e.start.dateTime,
      end_time: e.end.dateTime,
      organizer_email: e.organizer?.email ?? "",
      attendees: (e.attendees ?? []).map((a) => ({
        email: a.email,
        name: a.displayName ?? "",
        type: a.optional ? "optional" : "required",
        response_status: a.responseStatus === "needsAction" ? "needs_action" : a.responseStatus,
      })),
      event_url: e.htmlLink,
      is_cancelled: e.status === "cancelled",
    }));
    response.json({ events });
  } catch (error) {
    response.status(502).send(String(error));
  }
});
const server = app.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ api: "127.0.0.1:" + server.address().port }));
});
