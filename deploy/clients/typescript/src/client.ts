/**
 * A client of Frontdesk.
 *
 *     const desk = new Frontdesk({ url: "https://frontdesk.example.com", key: process.env.FRONTDESK_API_KEY! });
 *     const { slots, say } = await desk.findSlots({ duration_minutes: 30 });
 *
 * What fails is a {@link FrontdeskError}, which has a sentence to say as well, or an error of the network. A change
 * is sent with an Idempotency-Key, and sent again if no answer came: it has one effect.
 */
import type * as api from "./types.gen.js";

export type * from "./types.gen.js";

export interface Options {
  /** Address of the gateway, without a path. */
  url: string;
  /** An API key. */
  key: string;
  /** Language of the sentences, as in Accept-Language. The default is English. */
  language?: string;
  /**
   * How long a call may take with its repeats, in milliseconds. The gateway is given nine tenths of it, so that its
   * answer arrives in time. The default is 10,000.
   */
  timeoutMs?: number;
  /** In the place of the global fetch. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** In the place of a key of the client's own: for one change, and again for a repeat of it, after a crash for instance. */
  idempotencyKey?: string;
  /** In the place of the client's. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** A failure that the gateway reports. */
export class FrontdeskError extends Error {
  override readonly name = "FrontdeskError";

  constructor(
    /** Status of HTTP. */
    readonly status: number,
    /** Stable, to branch on: SLOT_TAKEN. */
    readonly reason: string,
    /** For whoever reads the log. */
    message: string,
    /** For the caller; "" for phone numbers. */
    readonly say: string,
    /** Milliseconds until a repeat can help; undefined: it cannot. */
    readonly retryAfterMs: number | undefined,
    /** What is wrong with the request. */
    readonly fields: readonly string[],
    /** What the caller can have in the place of a slot that is taken. */
    readonly instead: readonly api.Slot[],
  ) {
    super(message);
  }
}

/** Timers of Node.js and browsers take no longer time than this, and fire at once if they are given one. */
const longestTimeoutMs = 2 ** 31 - 1;

/** How often a call is sent. A repeat of a read changes nothing, and one of a change has its key. */
const tries = 3;

/** How long the client waits if no answer came. */
const noAnswerMs = 100;

type Method = "GET" | "POST" | "PATCH" | "DELETE";

export class Frontdesk {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Answers when a meeting can take place. */
  findSlots(request: api.FindSlotsRequest, options?: CallOptions): Promise<api.SlotsAnswer> {
    return this.#call("POST", "/alpha/calendar/find-slots", request, options);
  }

  /** Keeps a slot for a caller, for minutes. */
  holdSlot(request: api.HoldSlotRequest, options?: CallOptions): Promise<api.HoldAnswer> {
    return this.#change("POST", "/alpha/calendar/hold-slot", request, options);
  }

  /** Gives a slot back. */
  releaseHold(holdId: string, options?: CallOptions): Promise<api.ReleaseAnswer> {
    return this.#change("POST", "/alpha/calendar/release-hold", { hold_id: holdId }, options);
  }

  /** Books a slot, or the one that is held. */
  bookSlot(request: api.BookSlotRequest, options?: CallOptions): Promise<api.BookedAnswer> {
    return this.#change("POST", "/alpha/calendar/book-slot", request, options);
  }

  /** Returns a caller's meetings, by number or e-mail address. */
  findMeetings(request: api.FindMeetingsRequest, options?: CallOptions): Promise<api.MeetingsAnswer> {
    return this.#call("POST", "/alpha/calendar/find-meetings", request, options);
  }

  /** Moves a meeting to a slot. */
  moveMeeting(request: api.MoveMeetingRequest, options?: CallOptions): Promise<api.BookedAnswer> {
    return this.#change("POST", "/alpha/calendar/move-meeting", request, options);
  }

  /** Cancels a meeting by its short name. */
  cancelByReference(reference: string, options?: CallOptions): Promise<api.CancelledAnswer> {
    return this.#change("POST", "/alpha/calendar/cancel-meeting", { meeting_reference: reference }, options);
  }

  /** Returns who may be calling. */
  lookUpCaller(request: api.LookUpCallerRequest, options?: CallOptions): Promise<api.CallerAnswer> {
    return this.#call("POST", "/alpha/callers/look-up", request, options);
  }

  /** Books a meeting at any time. */
  bookMeeting(request: api.BookMeetingRequest, options?: CallOptions): Promise<api.MeetingAnswer> {
    return this.#change("POST", "/v1/calendar/book-meeting", request, options);
  }

  /** Changes the given fields of a meeting. */
  updateMeeting(request: api.UpdateMeetingRequest, options?: CallOptions): Promise<api.MeetingAnswer> {
    return this.#change("POST", "/v1/calendar/update-meeting", request, options);
  }

  /** Cancels a meeting by the provider's id. */
  cancelMeeting(request: api.CancelMeetingRequest, options?: CallOptions): Promise<api.CancelAnswer> {
    return this.#change("POST", "/v1/calendar/cancel-meeting", request, options);
  }

  /** Lists the events in a window. */
  listEvents(request: api.ListEventsRequest, options?: CallOptions): Promise<api.EventsAnswer> {
    return this.#call("POST", "/v1/calendar/list-events", request, options);
  }

  /** Lists the calendars of the connection. */
  listCalendars(options?: CallOptions): Promise<api.CalendarsAnswer> {
    return this.#call("POST", "/v1/calendar/list-calendars", {}, options);
  }

  /** Asks the provider whether the connection works. */
  verifyCalendarConnection(options?: CallOptions): Promise<api.VerifyAnswer> {
    return this.#call("POST", "/v1/calendar/verify-calendar-connection", {}, options);
  }

  /** Opens a ticket. */
  createTicket(request: api.CreateTicketRequest, options?: CallOptions): Promise<api.TicketAnswer> {
    return this.#change("POST", "/v1/tickets/create-ticket", request, options);
  }

  /** Returns a ticket by its number. */
  getTicket(ticketNumber: string, options?: CallOptions): Promise<api.TicketAnswer> {
    return this.#call("POST", "/v1/tickets/get-ticket", { ticket_number: ticketNumber }, options);
  }

  /** Lists the tenant's phone numbers. */
  listPhoneNumbers(options?: CallOptions): Promise<api.PhoneNumbersAnswer> {
    return this.#call("GET", numbersPath, undefined, options);
  }

  /** Returns a phone number. */
  getPhoneNumber(id: number, options?: CallOptions): Promise<api.PhoneNumber> {
    return this.#call("GET", `${numbersPath}/${id}`, undefined, options);
  }

  /** Buys a number in an area code. */
  buyPhoneNumber(request: api.BuyPhoneNumberRequest, options?: CallOptions): Promise<api.PhoneNumber> {
    return this.#change("POST", numbersPath, request, options);
  }

  /** Changes the given fields of a number. null unassigns an employee. */
  updatePhoneNumber(id: number, request: api.UpdatePhoneNumberRequest, options?: CallOptions): Promise<api.PhoneNumber> {
    return this.#change("PATCH", `${numbersPath}/${id}`, request, options);
  }

  /** Gives a number back. */
  async releasePhoneNumber(id: number, options?: CallOptions): Promise<void> {
    await this.#change("DELETE", `${numbersPath}/${id}`, undefined, options);
  }

  #change<Answer>(method: Method, path: string, body: unknown, options: CallOptions = {}): Promise<Answer> {
    return this.#call(method, path, body, { ...options, idempotencyKey: options.idempotencyKey || crypto.randomUUID() });
  }

  /** Sends a request until there is an answer, as long as there is time. */
  async #call<Answer>(method: Method, path: string, body: unknown, options: CallOptions = {}): Promise<Answer> {
    const timeoutMs = Math.ceil(options.timeoutMs ?? this.#options.timeoutMs ?? 10_000); // signals take no fractions
    const end = Date.now() + Math.min(timeoutMs, longestTimeoutMs);
    for (let count = 1; ; count++) {
      try {
        return await this.#send<Answer>(method, path, body, options, Math.max(1, end - Date.now()));
      } catch (error) {
        const wait = error instanceof FrontdeskError ? error.retryAfterMs : noAnswerMs;
        if (wait === undefined || count === tries || options.signal?.aborted || Date.now() + wait >= end) throw error;
        await pause(wait, options.signal);
      }
    }
  }

  async #send<Answer>(
    method: Method, path: string, body: unknown, options: CallOptions, timeoutMs: number,
  ): Promise<Answer> {
    const headers: Record<string, string> = {
      "X-Api-Key": this.#options.key,
      "X-Request-Timeout-Ms": `${Math.ceil(0.9 * timeoutMs)}`, // its answer has a reason, an abort has none
    };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (options.idempotencyKey !== undefined) headers["Idempotency-Key"] = options.idempotencyKey;
    if (this.#options.language !== undefined) headers["Accept-Language"] = this.#options.language;
    const signals = [AbortSignal.timeout(timeoutMs)];
    if (options.signal) signals.push(options.signal);
    const response = await (this.#options.fetch ?? fetch)(this.#options.url.replace(/\/+$/, "") + path, {
      method, headers, body: body === undefined ? null : JSON.stringify(body), signal: AbortSignal.any(signals),
      redirect: "manual", // the gateway has none: one would make a GET of a change, and take the key to another host
    });
    const text = await response.text();
    if (!response.ok) throw errorOf(response, text);
    return (response.status === 204 ? undefined : JSON.parse(text)) as Answer;
  }
}

/** Waits for a time, or until the signal. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

const numbersPath = "/beta/phone-numbers";

/** The members of a google.rpc.Status and of a problem (RFC 9457) that an error has. */
interface ErrorBody {
  message?: string;
  detail?: string;
  type?: string;
  errors?: { location: string; message: string }[];
  details?: {
    "@type": string;
    reason?: string;
    message?: string;
    retryDelay?: string;
    fieldViolations?: { field: string; description: string }[];
    value?: { nearest_slots?: api.Slot[] };
  }[];
}

function errorOf(response: Response, text: string): FrontdeskError {
  try {
    return errorFrom(response, JSON.parse(text) as ErrorBody);
  } catch {
    return errorFrom(response, {}); // the body is not the gateway's: a proxy's
  }
}

function errorFrom(response: Response, body: ErrorBody): FrontdeskError {
  let reason = body.type?.split("/").at(-1) ?? "";
  let say = "";
  let retryAfterMs: number | undefined;
  let instead: api.Slot[] = [];
  const fields = (body.errors ?? []).map((e) => `${e.location} ${e.message}`);
  for (const detail of body.details ?? []) {
    switch (detail["@type"].split(".").at(-1)) {
      case "ErrorInfo":
        reason = detail.reason ?? "";
        break;
      case "LocalizedMessage":
        say = detail.message ?? "";
        break;
      case "RetryInfo":
        retryAfterMs = 1000 * parseFloat(detail.retryDelay ?? "0");
        break;
      case "Struct":
        instead = detail.value?.nearest_slots ?? [];
        break;
      case "BadRequest":
        fields.push(...(detail.fieldViolations ?? []).map((v) => `${v.field} ${v.description}`));
    }
  }
  const seconds = Number(response.headers.get("Retry-After") ?? NaN);
  if (retryAfterMs === undefined && Number.isFinite(seconds)) retryAfterMs = 1000 * seconds;
  // A proxy got no answer from the gateway (RFC 9110 sections 15.6.3 to 15.6.5). The gateway itself gives a reason.
  if (retryAfterMs === undefined && reason === "" && [502, 503, 504].includes(response.status)) retryAfterMs = noAnswerMs;
  const elsewhere = response.headers.get("Location");
  const message = body.message ?? body.detail ?? response.statusText + (elsewhere ? `: ${elsewhere}` : "");
  return new FrontdeskError(response.status, reason, message, say, retryAfterMs, fields, instead);
}
