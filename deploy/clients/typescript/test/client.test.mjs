// Run against a gateway with the demo's sandbox, which GATEWAY_URL and GATEWAY_KEY name.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Frontdesk, FrontdeskError } from "../dist/client.js";

const url = process.env.GATEWAY_URL + "/";
const key = process.env.GATEWAY_KEY;
const desk = new Frontdesk({ url, key });

test("a telephone call: find, hold, book, move, cancel", async () => {
  const { slots, say } = await desk.findSlots({ duration_minutes: 30, limit: 3 });
  assert.equal(slots.length, 3);
  assert.match(say, /./);

  const { hold_id } = await desk.holdSlot({ slot_id: slots[0].slot_id });
  const booked = await desk.bookSlot({ hold_id, title: "Consultation", phone_number: "+12025550101" });
  assert.equal(booked.start, slots[0].start);
  const { meetings } = await desk.findMeetings({ phone_number: "+12025550101" });
  assert.equal(meetings.length, 1); // one effect
  assert.equal(meetings[0].meeting_reference, booked.meeting_reference);

  const moved = await desk.moveMeeting({ meeting_reference: booked.meeting_reference, slot_id: slots[1].slot_id });
  assert.equal(moved.start, slots[1].start);
  const cancelled = await desk.cancelByReference(booked.meeting_reference);
  assert.match(cancelled.say, /./);
});

test("a change with a key of one's own has one effect", async () => {
  const request = { subject: "The printer is on fire" };
  const first = await desk.createTicket(request, { idempotencyKey: "ticket of call 7" });
  const second = await desk.createTicket(request, { idempotencyKey: "ticket of call 7" });
  assert.deepEqual(second, first);
  assert.deepEqual(await desk.getTicket(first.ticket.ticket_number), first);
});

test("phone numbers", async () => {
  const bought = await desk.buyPhoneNumber({ area_code: "415" });
  const named = await desk.updatePhoneNumber(bought.id, { name: "Front office", inbound_cloud_employee_id: null });
  assert.equal(named.name, "Front office");
  assert.ok((await desk.listPhoneNumbers()).phone_numbers.some((n) => n.id === bought.id));
  await desk.releasePhoneNumber(bought.id);
  await assert.rejects(desk.getPhoneNumber(bought.id), { name: "FrontdeskError", status: 404, retryAfterMs: undefined });
});

test("a failure is told in the language", async () => {
  const german = new Frontdesk({ url, key: "fd_live_wrong", language: "de" });
  const error = await german.listCalendars().catch((e) => e);
  assert.ok(error instanceof FrontdeskError);
  assert.deepEqual([error.status, error.reason], [401, "INVALID_API_KEY"]);
  assert.match(error.say, /nicht/);
  await assert.rejects(desk.bookSlot({ slot_id: "st_0000000000" }), (e) => e.fields.some((f) => f.includes("title")));
});

test("a slot that is taken comes with others", async () => {
  const { slots } = await desk.findSlots({ duration_minutes: 30, limit: 1 });
  await desk.bookSlot({ slot_id: slots[0].slot_id, title: "First" });
  const error = await desk.bookSlot({ slot_id: slots[0].slot_id, title: "Second" }).catch((e) => e);
  assert.equal(error.reason, "SLOT_TAKEN");
  assert.equal(error.instead.length, 3);
});

// serve answers each request as told, until the function ends.
async function serve(answer, use) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const down = (retryDelay) => JSON.stringify({
  code: 14, message: "Down.", details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }],
});

test("a call is repeated where that can help and there is time", async () => {
  const keys = [];
  let wait = "0.01s";
  await serve((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    response.writeHead(503).end(down(wait));
  }, async (url) => {
    const desk = new Frontdesk({ url, key, timeoutMs: 5000 });
    await assert.rejects(desk.createTicket({ subject: "A" }), { status: 503, message: "Down." });
    assert.equal(keys.length, 3);
    assert.equal(new Set(keys).size, 1);
    wait = "30s";
    await assert.rejects(desk.createTicket({ subject: "A" }), { retryAfterMs: 30_000 });
    assert.equal(keys.length, 4);
    await assert.rejects(desk.createTicket({ subject: "A" }, { signal: AbortSignal.abort() }), { name: "AbortError" });
    assert.equal(keys.length, 4);
  });
});

test("a signal ends the wait for a repeat", async () => {
  const stop = new AbortController();
  await serve((_, response) => {
    response.writeHead(503).end(down("60s"), () => setTimeout(() => stop.abort(), 50));
  }, async (url) => {
    const began = Date.now();
    const patient = new Frontdesk({ url, key, timeoutMs: 120_000 });
    await assert.rejects(patient.createTicket({ subject: "A" }, { signal: stop.signal }), { name: "AbortError" });
    assert.ok(Date.now() - began < 30_000);
  });
});

test("the gateway is given less time than the call, so that its answer arrives", async () => {
  const given = [];
  await serve((request, response) => {
    given.push(Number(request.headers["x-request-timeout-ms"]));
    response.end("{}");
  }, async (url) => {
    const desk = new Frontdesk({ url, key });
    for (const timeoutMs of [5000, 5000.5, Infinity, undefined]) await desk.listCalendars({ timeoutMs });
  });
  const most = [4500, 4501, 0.9 * 2 ** 31, 9000];
  assert.ok(given.every((ms, i) => Number.isInteger(ms) && ms > 0.5 * most[i] && ms <= most[i]), `${given}`);
});

test("an answer of a proxy is a failure with its status", async () => {
  const bodies = ["<html>", "null", '"busy"', '{"details":"busy"}', '{"details":[{}]}', '{"errors":"busy"}', '{"type":7}'];
  let body, count = 0;
  await serve((_, response) => {
    count++;
    response.writeHead(403).end(body);
  }, async (url) => {
    const desk = new Frontdesk({ url, key });
    for (body of bodies) await assert.rejects(desk.listCalendars(), { name: "FrontdeskError", status: 403, reason: "" });
  });
  assert.equal(count, bodies.length);
});

// A redirect would make a GET of a purchase, whose answer looks like the purchase's, and take the key to another host.
test("a redirect is a failure", async () => {
  let asked = 0, status;
  await serve((_, response) => {
    asked++;
    response.end('{"id":7}');
  }, (elsewhere) => serve((_, response) => {
    response.writeHead(status, { Location: elsewhere }).end("<html>");
  }, async (url) => {
    const desk = new Frontdesk({ url, key });
    for (status of [301, 302, 303, 307, 308]) {
      const failure = { name: "FrontdeskError", status, message: new RegExp(elsewhere) };
      await assert.rejects(desk.buyPhoneNumber({ area_code: "415" }), failure);
      await assert.rejects(desk.releasePhoneNumber(7), failure);
      await assert.rejects(desk.getPhoneNumber(7), failure);
    }
  }));
  assert.equal(asked, 0);
});

test("an empty answer is none, and an empty key is not the change's", async () => {
  const keys = [];
  let status = 200;
  await serve((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    response.writeHead(status).end();
  }, async (url) => {
    const desk = new Frontdesk({ url, key });
    await assert.rejects(desk.createTicket({ subject: "A" }, { idempotencyKey: "" }));
    status = 204;
    await desk.releasePhoneNumber(7);
  });
  assert.equal(keys.length, 4);
  assert.equal(new Set(keys).size, 2);
  assert.ok(keys.every((k) => k !== ""));
});

test("a call is repeated where a proxy got no answer", async () => {
  const keys = [];
  await serve((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    if (keys.length < 3) response.writeHead(500 + 2 * keys.length).end("<html>");
    else response.end('{"ticket":{}}');
  }, async (url) => {
    await new Frontdesk({ url, key }).createTicket({ subject: "A" });
  });
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
});
