// Code generated from the OpenAPI description. DO NOT EDIT.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Attendee: {
            /**
             * @description E-mail address.
             * @example pat@example.com
             */
            email: string;
            /**
             * @description Display name. Empty if the provider does not tell it.
             * @example Pat Doe
             */
            name: string;
            /**
             * @description needs_action, accepted, declined or tentative.
             * @example accepted
             */
            response_status: string;
            /**
             * @description required, optional or resource.
             * @example required
             */
            type: string;
        };
        BookMeetingRequest: {
            /**
             * @description E-mail addresses to invite, at most 200. Duplicates are dropped. Each has at most 320 bytes.
             * @example [
             *       "pat@example.com"
             *     ]
             */
            attendee_emails?: string[];
            /**
             * @description provider: the provider makes a meeting link. url: location_url is the link. Absent: no link. Configured legacy names mean provider and are deprecated. At most 64 bytes.
             * @example provider
             */
            conferencing_type?: string;
            /**
             * @description Agenda or body text. At most 8,192 bytes.
             * @example First visit
             */
            description?: string;
            /**
             * @description End, in the form of start_time. It must be later than the start. At most 64 bytes. Required.
             * @example 2026-12-01T10:30:00-05:00
             */
            end_time?: string;
            /**
             * @description Link of the meeting, an absolute http or https URL of at most 2,048 bytes. On its own it implies conferencing_type url. With provider it is ignored.
             * @example https://meet.example.com/front-office
             */
            location_url?: string;
            /**
             * @description Calendars, at most 50. The event is created in the first. If the tenant prevents double booking, all of them must be free. The default is the connection's default calendar. Each has at most 1,024 bytes.
             * @example [
             *       "primary"
             *     ]
             */
            selected_calendar_ids?: string[];
            /**
             * @description Start: RFC 3339, or a local time without offset. A local time is in timezone, or else in the calendar's own zone. At most 64 bytes. Required.
             * @example 2026-12-01T10:00:00-05:00
             */
            start_time?: string;
            /**
             * @description IANA time zone name. If the times have an offset, it is only the zone of the times in the answer. At most 64 bytes.
             * @example America/New_York
             */
            timezone?: string;
            /**
             * @description Meeting title shown to attendees. At most 1,024 bytes. Required.
             * @example Consultation
             */
            title?: string;
        };
        BookSlotRequest: {
            /**
             * @description E-mail addresses to invite, at most 200. Duplicates are dropped. Each has at most 320 bytes.
             * @example [
             *       "pat@example.com"
             *     ]
             */
            attendee_emails?: string[];
            /**
             * @description provider: the provider makes a meeting link. url: location_url is the link. Absent: no link. At most 64 bytes.
             * @example provider
             */
            conferencing_type?: string;
            /**
             * @description Agenda or body text. At most 8,192 bytes.
             * @example First visit
             */
            description?: string;
            /**
             * @description The hold on the slot to book, as hold-slot answered it. At most 16 bytes.
             * @example hd_3n8r5w0c6p
             */
            hold_id?: string;
            /**
             * @description Link of the meeting, an absolute http or https URL of at most 2,048 bytes. On its own it implies conferencing_type url.
             * @example https://meet.example.com/front-office
             */
            location_url?: string;
            /**
             * @description The caller's number as the platform tells it. find-meetings finds the meeting by it. At most 256 bytes.
             * @example +12025550101
             */
            phone_number?: string;
            /**
             * @description The slot to book, as find-slots answered it. Either this or hold_id is required. At most 16 bytes.
             * @example st_7q2m9xk4tz
             */
            slot_id?: string;
            /**
             * @description Meeting title shown to attendees. At most 1,024 bytes. Required.
             * @example Consultation
             */
            title?: string;
        };
        BookedAnswer: {
            /**
             * Format: date-time
             * @description End, RFC 3339 with the offset of time_zone.
             * @example 2026-12-01T10:30:00-05:00
             */
            end: string;
            /**
             * @description The meeting's link, if it has one.
             * @example https://meet.example.com/abc-defg-hij
             */
            event_url?: string;
            /**
             * @description Short name of the meeting, by which it is moved and cancelled.
             * @example mt_5d1y7k2hqs
             */
            meeting_reference: string;
            /**
             * @description A sentence to say to the caller.
             * @example The appointment is booked for Tuesday, December the first, at ten in the morning.
             */
            say: string;
            /**
             * Format: date-time
             * @description Start, RFC 3339 with the offset of time_zone.
             * @example 2026-12-01T10:00:00-05:00
             */
            start: string;
            /**
             * @description The time zone in which the slot was offered, an IANA name.
             * @example America/New_York
             */
            time_zone: string;
        };
        BuyPhoneNumberRequest: {
            /**
             * @description NANP area code, assigned and geographic. Required.
             * @example 415
             */
            area_code: string;
            /**
             * Format: int64
             * @description Cloud employee to handle inbound calls.
             * @example 7
             */
            inbound_cloud_employee_id?: number;
            /**
             * @description Display name, 1 to 64 characters after trimming. The default is the number itself.
             * @example Front office
             */
            name?: string;
            /**
             * Format: int64
             * @description Cloud employee to handle outbound calls.
             * @example 7
             */
            outbound_cloud_employee_id?: number;
        };
        Calendar: {
            /**
             * @description The provider's own id.
             * @example primary
             */
            id: string;
            /**
             * @description Display name.
             * @example Front office
             */
            name: string;
        };
        CalendarsAnswer: {
            /** @description Every calendar of the account that holds events. */
            calendars: components["schemas"]["Calendar"][];
        };
        CallerAccount: {
            /**
             * @description The account's id in the CRM, as create-ticket takes it.
             * @example acc_77
             */
            id: string;
            /**
             * @description The account's name.
             * @example Maple Court Homes
             */
            name: string;
        };
        CallerAnswer: {
            /** @description The contacts who may be calling, the best match first. Nobody is chosen among several. */
            candidates: components["schemas"]["Candidate"][];
            /**
             * @description Whether there are candidates.
             * @example true
             */
            found: boolean;
            /**
             * @description Whether there are, or may be, more candidates than the CRM returned.
             * @example false
             */
            more: boolean;
            /**
             * @description What could not be read completely: contacts or open_tickets.
             * @example []
             */
            partial: string[];
            /**
             * @description The answer as a sentence to speak.
             * @example This may be Pat Doe.
             */
            say: string;
            /**
             * @description Always false: a caller's number can be forged, and is shared in families and firms.
             * @example false
             */
            verified: boolean;
            /**
             * @description Whether the caller withholds the number, or calls from a SIP address, so that nobody was looked up.
             * @example false
             */
            withheld: boolean;
        };
        CancelAnswer: {
            /**
             * @description The event that was cancelled.
             * @example evt_4k1v9s
             */
            event_id: string;
            /** @description Always true: the event is cancelled. */
            ok: boolean;
        };
        CancelByReferenceRequest: {
            /**
             * @description The meeting to cancel, as book-slot or find-meetings answered it. At most 16 bytes. Required.
             * @example mt_5d1y7k2hqs
             */
            meeting_reference?: string;
        };
        CancelMeetingRequest: {
            /**
             * @description The event's calendar. Needed only if the gateway has not seen the event yet and it is not in the default calendar. At most 1,024 bytes.
             * @example primary
             */
            calendar_id?: string;
            /**
             * @description The event to cancel. At most 1,024 bytes. Required.
             * @example evt_4k1v9s
             */
            event_id?: string;
        };
        CancelledAnswer: {
            /**
             * @description The meeting that was cancelled.
             * @example mt_5d1y7k2hqs
             */
            meeting_reference: string;
            /** @description Always true: the meeting is cancelled. */
            ok: boolean;
            /**
             * @description A sentence to say to the caller.
             * @example The appointment is cancelled.
             */
            say: string;
        };
        Candidate: {
            /** @description The account that the contact belongs to. */
            account?: components["schemas"]["CallerAccount"];
            /**
             * @description The contact's id in the CRM, as create-ticket takes it.
             * @example con_301
             */
            contact_id?: string;
            /** @description The contact's e-mail addresses. */
            emails?: string[] | null;
            /**
             * @description How well the stored number agrees: exact, national (it was stored without a country code) or suffix (only its last digits agree). An e-mail address is exact.
             * @example exact
             */
            match: string;
            /**
             * @description The contact's name.
             * @example Pat Doe
             */
            name?: string;
            /** @description The contact's tickets that are neither resolved nor closed, the last changed first. */
            open_tickets?: components["schemas"]["OpenTicket"][] | null;
            /** @description The contact's telephone numbers, as people typed them. */
            phone_numbers?: string[] | null;
        };
        CreateTicketRequest: {
            /**
             * @description Id of the related account. At most 1,024 bytes.
             * @example acc_77
             */
            account_id?: string;
            /**
             * @description Id of the related contact. At most 1,024 bytes.
             * @example con_301
             */
            contact_id?: string;
            /**
             * @description Initial body text, plain. At most 8,192 bytes.
             * @example The handle of the front door came off.
             */
            description?: string;
            /**
             * @description Id of the user to whom the ticket is assigned. At most 1,024 bytes.
             * @example usr_12
             */
            owner_id?: string;
            /**
             * @description A priority label of the CRM, in any case, or one of the tenant's own words. At most 256 bytes.
             * @example High
             */
            priority?: string;
            /**
             * @description Initial status: a label of the CRM, in any case, or one of the tenant's own words. At most 256 bytes.
             * @example New
             */
            status?: string;
            /**
             * @description Short title. At most 1,024 bytes. Required.
             * @example Broken door handle
             */
            subject?: string;
        };
        ErrorDetail: {
            /**
             * @description Where the fault is: body.name, path.id, header.X-Request-Timeout-Ms.
             * @example body.name
             */
            location?: string;
            /**
             * @description What is wrong and what to do.
             * @example must not be blank
             */
            message?: string;
            /** @description The value there, if it is a short scalar of a known field; or a value that would work instead. */
            value?: unknown;
        };
        ErrorModel: {
            /**
             * @description Explanation specific to this occurrence.
             * @example The request is not valid: name must not be blank.
             */
            detail?: string;
            /** @description One entry per fault of the input, or per value that would work instead. */
            errors?: components["schemas"]["ErrorDetail"][] | null;
            /**
             * Format: uri
             * @description Identifies this occurrence by its request id.
             * @example urn:frontdesk:request:01JDB2V7Q4RZ0F5N1X8W3T6K9M
             */
            instance?: string;
            /**
             * Format: int64
             * @description HTTP status code.
             * @example 422
             */
            status?: number;
            /**
             * @description Short summary of the problem type; does not change between occurrences.
             * @example The request is not valid
             */
            title?: string;
            /**
             * Format: uri
             * @description Link to a page on the error.
             * @default about:blank
             * @example https://agents.example.com/problems/invalid-request
             */
            type: string;
        };
        EventsAnswer: {
            /** @description The events of the window, by start and then id. */
            events: components["schemas"]["ListedEvent"][];
        };
        FindMeetingsRequest: {
            /**
             * @description Calendars to look through for invitations of the address, at most 50. The default is the connection's default calendar. What was booked through this gateway is found in any calendar. Each has at most 1,024 bytes.
             * @example [
             *       "primary"
             *     ]
             */
            calendar_ids?: string[];
            /**
             * @description The caller's e-mail address. At most 320 bytes.
             * @example pat@example.com
             */
            email?: string;
            /**
             * @description End of the window, exclusive, at most 366 days after its start. The default is 60 days after the start, and 366 days for what was booked through this gateway. At most 64 bytes.
             * @example 2027-01-30
             */
            end?: string;
            /**
             * @description The caller's number as the platform tells it: with its country code, or a word such as anonymous. Either this or email is required. At most 256 bytes.
             * @example +12025550101
             */
            phone_number?: string;
            /**
             * @description Start of the window: RFC 3339, a local time, or a bare date, which means the start of that day. The default is now. At most 64 bytes.
             * @example 2026-12-01
             */
            start?: string;
            /**
             * @description IANA time zone name, of the person who is told: the zone of local times in start and end, of the answer, and of say. The default is the calendar's own. At most 64 bytes.
             * @example America/New_York
             */
            time_zone?: string;
        };
        FindSlotsRequest: {
            /**
             * @description collective: all the calendars must be free. any: one of them is enough, and each slot names those that are free. The default is collective. At most 16 bytes.
             * @example collective
             */
            availability?: string;
            /**
             * Format: int64
             * @description Days after today on the last of which a meeting may start, at most 730; 0 means no limit. The default is the connection's or the tenant's setting, or else no limit.
             * @example 30
             */
            booking_window_days?: number;
            /** @description What must be free around a meeting. */
            buffer?: components["schemas"]["SlotBuffer"];
            /**
             * @description Calendars, at most 50. The default is the connection's default calendar. Each has at most 1,024 bytes.
             * @example [
             *       "primary"
             *     ]
             */
            calendar_ids?: string[];
            /**
             * Format: int64
             * @description Length of the meeting, from 1 to 1,440. The default is that of the meeting to be moved, or else the connection's or the tenant's setting, or else 30.
             * @example 30
             */
            duration_minutes?: number;
            /**
             * @description End of the window, exclusive, at most 60 days after its start. Meetings end by then. The default is 14 days after the start. At most 64 bytes.
             * @example 2026-12-08
             */
            end?: string;
            /**
             * @description A hold of the caller's own, which does not count as busy. At most 16 bytes.
             * @example hd_3n8r5w0c6p
             */
            hold_id?: string;
            /**
             * Format: int64
             * @description How many slots to answer, from 1 to 50. The default is 4.
             * @example 4
             */
            limit?: number;
            /**
             * Format: int64
             * @description Minutes from now to the earliest start, at most 86,400. The default is the connection's or the tenant's setting, or else 0.
             * @example 120
             */
            minimum_notice_minutes?: number;
            /** @description When meetings may take place, every week; at most 14 entries. The default is the working hours of the calendar's owner where the provider tells them, as Microsoft 365 does, or else Monday to Friday, 09:00 to 17:00. */
            open_hours?: components["schemas"]["OpenHours"][];
            /**
             * Format: int64
             * @description How many of them on one day, from 1 to 50. The default is 2.
             * @example 2
             */
            per_day?: number;
            /**
             * @description The meeting_reference or event_id of a meeting that is to be moved. Its own time does not count as busy. Its calendar has to be free as well, since the meeting stays there; that of an event_id is known if the event was booked or listed through this gateway. At most 1,024 bytes.
             * @example mt_5d1y7k2hqs
             */
            reschedule_meeting_id?: string;
            /**
             * Format: int64
             * @description Minutes from one possible start to the next, from the time at which the office opens. The default is the connection's or the tenant's setting, or else the duration.
             * @example 15
             */
            slot_interval_minutes?: number;
            /** @description Hours of single days in the place of open_hours, at most 31 entries. A date may have several. A date without start and end is closed. */
            specific_time_availability?: components["schemas"]["SpecificTime"][];
            /**
             * @description Start of the window: RFC 3339, a local time, or a bare date, which means the start of that day. The default is now. At most 64 bytes.
             * @example 2026-12-01
             */
            start?: string;
            /**
             * @description Whether a meeting counts as busy that the account has accepted tentatively. The default is the connection's or the tenant's setting, or else true.
             * @example true
             */
            tentative_as_busy?: boolean;
            /**
             * @description IANA time zone name, of the person who is asked: the zone of local times in start and end, of the answer, and of say. The default is the calendar's own. At most 64 bytes.
             * @example America/New_York
             */
            time_zone?: string;
        };
        FoundMeeting: {
            /**
             * Format: date-time
             * @description End, RFC 3339 with the offset of time_zone.
             * @example 2026-12-01T10:30:00-05:00
             */
            end: string;
            /**
             * @description Short name of the meeting, by which it is moved and cancelled.
             * @example mt_5d1y7k2hqs
             */
            meeting_reference: string;
            /**
             * Format: date-time
             * @description Start, RFC 3339 with the offset of time_zone.
             * @example 2026-12-01T10:00:00-05:00
             */
            start: string;
            /**
             * @description The meeting's title. It is absent unless the tenant's setting unverified_caller_fields has meeting_titles, since nobody has verified who calls.
             * @example Consultation
             */
            title?: string;
        };
        GetTicketRequest: {
            /**
             * @description The number as people say it. Surrounding spaces, # and missing leading zeros do not matter. At most 256 bytes. Required.
             * @example #1042
             */
            ticket_number?: string;
        };
        HoldAnswer: {
            /**
             * Format: date-time
             * @description When the hold ends by itself, RFC 3339 with the offset of the slot's time zone.
             * @example 2026-11-30T16:05:00-05:00
             */
            held_until: string;
            /**
             * @description Short name of the hold. It takes the place of the slot_id when the slot is booked.
             * @example hd_3n8r5w0c6p
             */
            hold_id: string;
            /**
             * @description A sentence to say to the caller.
             * @example I am holding Tuesday the first at ten in the morning for you.
             */
            say: string;
            /** @description The slot that is held. */
            slot: components["schemas"]["Slot"];
        };
        HoldSlotRequest: {
            /**
             * Format: int64
             * @description How long to hold it, from 1 to 15 minutes. The default is 5.
             * @example 5
             */
            hold_minutes?: number;
            /**
             * @description The meeting that is to be moved to the slot. Its own time does not count as busy. At most 16 bytes.
             * @example mt_5d1y7k2hqs
             */
            meeting_reference?: string;
            /**
             * @description The caller's number as the platform tells it. It tells the callers of one API key apart. At most 256 bytes.
             * @example +12025550101
             */
            phone_number?: string;
            /**
             * @description The slot to hold, as find-slots answered it. At most 16 bytes. Required.
             * @example st_7q2m9xk4tz
             */
            slot_id?: string;
        };
        ListEventsRequest: {
            /**
             * @description End of the window, exclusive. The default is seven days after its start. At most 64 bytes.
             * @example 2026-12-08
             */
            end_time?: string;
            /**
             * @description Calendars to read, at most 50. The default is the connection's default calendar. Each has at most 1,024 bytes.
             * @example [
             *       "primary"
             *     ]
             */
            selected_calendar_ids?: string[];
            /**
             * @description Start of the window: RFC 3339, a local time, or a bare date, which means the start of that day. The default is now. At most 64 bytes.
             * @example 2026-12-01
             */
            start_time?: string;
            /**
             * @description IANA time zone name: the zone of local times in the request, and of the times in the answer. At most 64 bytes.
             * @example America/New_York
             */
            timezone?: string;
        };
        ListedEvent: {
            /** @description The people and resources that are invited. */
            attendees: components["schemas"]["Attendee"][];
            /**
             * Format: date-time
             * @description End, RFC 3339 with the offset of the requested time zone.
             * @example 2026-12-01T10:30:00-05:00
             */
            end_time: string;
            /**
             * @description Identifier of the event, or of the one instance of a recurring event.
             * @example evt_4k1v9s
             */
            event_id: string;
            /**
             * @description Link of the meeting, or else the provider's page of the event. Empty if the provider has neither.
             * @example https://meet.example.com/abc-defg-hij
             */
            event_url: string;
            /** @description Whether the event is cancelled. Some providers still list cancelled events. */
            is_cancelled: boolean;
            /**
             * @description Address of the organizer. Empty if the provider does not tell it.
             * @example office@example.com
             */
            organizer_email: string;
            /**
             * Format: date-time
             * @description Start, RFC 3339 with the offset of the requested time zone. An all-day event starts at local midnight.
             * @example 2026-12-01T10:00:00-05:00
             */
            start_time: string;
            /**
             * @description Title of the event.
             * @example Consultation
             */
            subject: string;
        };
        LookUpCallerRequest: {
            /**
             * @description The caller's e-mail address. At most 320 bytes.
             * @example pat@example.com
             */
            email?: string;
            /**
             * @description The caller's number as the platform tells it: with its country code, or a word such as anonymous. Either this or email is required. At most 256 bytes.
             * @example +12025550101
             */
            phone_number?: string;
        };
        Meeting: {
            /**
             * Format: date-time
             * @description End, RFC 3339 with the offset of the requested time zone.
             * @example 2026-12-01T10:30:00-05:00
             */
            end_time: string;
            /**
             * @description Identifier of the event, the provider's own.
             * @example evt_4k1v9s
             */
            event_id: string;
            /**
             * @description Link of the meeting, or else the provider's page of the event. Empty if the provider has neither.
             * @example https://meet.example.com/abc-defg-hij
             */
            event_url: string;
            /**
             * Format: date-time
             * @description Start, RFC 3339 with the offset of the requested time zone.
             * @example 2026-12-01T10:00:00-05:00
             */
            start_time: string;
        };
        MeetingAnswer: {
            /** @description The event as it is now. */
            event: components["schemas"]["Meeting"];
        };
        MeetingsAnswer: {
            /** @description Whether all sources could be read. */
            complete: boolean;
            /** @description The meetings with the caller, by start; at most 10. */
            meetings: components["schemas"]["FoundMeeting"][];
            /** @description Whether there are more meetings than these. */
            more: boolean;
            /**
             * @description A sentence to say to the caller.
             * @example I see an appointment on Tuesday the first at ten in the morning.
             */
            say: string;
            /**
             * @description The time zone of the meetings, an IANA name.
             * @example America/New_York
             */
            time_zone: string;
            /**
             * @description What could not be read: booked_here, some meetings that were booked through this gateway; calendar, those in the calendars to which the address is invited.
             * @example []
             */
            unread_sources: string[];
        };
        MoveMeetingRequest: {
            /**
             * @description The hold on the slot to move it to, as hold-slot answered it. At most 16 bytes.
             * @example hd_3n8r5w0c6p
             */
            hold_id?: string;
            /**
             * @description The meeting to move, as book-slot or find-meetings answered it. At most 16 bytes. Required.
             * @example mt_5d1y7k2hqs
             */
            meeting_reference?: string;
            /**
             * @description The slot to move it to, as find-slots answered it. Either this or hold_id is required. At most 16 bytes.
             * @example st_0c5v8hn3wa
             */
            slot_id?: string;
        };
        NoFields: Record<string, never>;
        OpenHours: {
            /**
             * @description Days of the week: monday to sunday. Each has at most 16 bytes. Required.
             * @example [
             *       "monday",
             *       "tuesday"
             *     ]
             */
            days?: string[];
            /**
             * @description Closing time, up to 24:00. If it is not after start, it is on the next day. At most 8 bytes. Required.
             * @example 17:00
             */
            end?: string;
            /**
             * @description Dates on which these hours do not apply, at most 100. Each has at most 16 bytes.
             * @example [
             *       "2026-12-24"
             *     ]
             */
            exdates?: string[];
            /**
             * @description Opening time, from 00:00 to 23:59. At most 8 bytes. Required.
             * @example 09:00
             */
            start?: string;
            /**
             * @description IANA time zone name. The default is the first calendar's own. At most 64 bytes.
             * @example America/New_York
             */
            time_zone?: string;
        };
        OpenTicket: {
            /**
             * Format: date-time
             * @description When the ticket was opened.
             * @example 2026-12-01T15:00:00Z
             */
            created_at?: string;
            /**
             * @description The CRM's own label.
             * @example High
             */
            priority: string;
            /**
             * @description The CRM's own label.
             * @example New
             */
            status: string;
            /**
             * @description Short title.
             * @example Broken door handle
             */
            subject: string;
            /**
             * @description The number people use.
             * @example 00001042
             */
            ticket_number: string;
            /**
             * Format: date-time
             * @description When the ticket was last changed.
             * @example 2026-12-03T09:00:00Z
             */
            updated_at?: string;
        };
        PhoneNumber: {
            /**
             * @description NANP area code.
             * @example 415
             */
            area_code: string;
            /**
             * @description Number in E.164 format.
             * @example +14155550123
             */
            readonly e164: string;
            /**
             * Format: int64
             * @description The gateway's own stable identifier. It is never used again after a release.
             * @example 4711
             */
            readonly id: number;
            /**
             * Format: int64
             * @description Cloud employee handling inbound calls. Absent if none is assigned.
             * @example 7
             */
            inbound_cloud_employee_id?: number;
            /**
             * @description Display name.
             * @example Front office
             */
            name: string;
            /**
             * Format: int64
             * @description Cloud employee handling outbound calls. Absent if none is assigned.
             * @example 7
             */
            outbound_cloud_employee_id?: number;
        };
        PhoneNumbersAnswer: {
            /** @description The caller's phone numbers, by id. */
            phone_numbers: components["schemas"]["PhoneNumber"][];
        };
        ReleaseAnswer: {
            /**
             * @description The hold.
             * @example hd_3n8r5w0c6p
             */
            hold_id: string;
            /** @description Whether the hold was released now. It is false if the hold had ended, or its slot was booked. */
            released: boolean;
            /**
             * @description A sentence to say to the caller.
             * @example I am no longer holding Tuesday the first at ten in the morning.
             */
            say: string;
        };
        ReleaseHoldRequest: {
            /**
             * @description The hold to release, as hold-slot answered it. At most 16 bytes. Required.
             * @example hd_3n8r5w0c6p
             */
            hold_id?: string;
        };
        Slot: {
            /**
             * @description The calendars that are free. With availability any, these may be some of those asked for.
             * @example [
             *       "primary"
             *     ]
             */
            calendar_ids: string[];
            /**
             * Format: date-time
             * @description End, RFC 3339 with the offset of time_zone.
             * @example 2026-12-01T10:30:00-05:00
             */
            end: string;
            /**
             * @description Short name of the slot. It is valid for 24 hours at least.
             * @example st_7q2m9xk4tz
             */
            slot_id: string;
            /**
             * Format: date-time
             * @description Start, RFC 3339 with the offset of time_zone.
             * @example 2026-12-01T10:00:00-05:00
             */
            start: string;
        };
        SlotBuffer: {
            /**
             * Format: int64
             * @description Minutes after the end, at most 1,440.
             * @example 15
             */
            after_minutes?: number;
            /**
             * Format: int64
             * @description Minutes before the start, at most 1,440.
             * @example 0
             */
            before_minutes?: number;
        };
        SlotsAnswer: {
            /** @description Whether all calendars could be read. */
            complete: boolean;
            /**
             * @description A sentence to say to the caller.
             * @example I have Tuesday the first at ten in the morning.
             */
            say: string;
            /** @description The slots to offer, by start. */
            slots: components["schemas"]["Slot"][];
            /**
             * @description The time zone of the slots, an IANA name.
             * @example America/New_York
             */
            time_zone: string;
            /**
             * @description The calendars that could not be read. They count as busy.
             * @example []
             */
            unread_calendars: string[];
        };
        SpecificTime: {
            /**
             * @description The day. At most 16 bytes. Required.
             * @example 2026-12-24
             */
            date?: string;
            /**
             * @description Closing time, in the form of open_hours. At most 8 bytes.
             * @example 12:00
             */
            end?: string;
            /**
             * @description Opening time, in the first calendar's own time zone. At most 8 bytes.
             * @example 09:00
             */
            start?: string;
        };
        Status: {
            /**
             * Format: int64
             * @description google.rpc.Code.
             * @example 3
             */
            code: number;
            /** @description Standard google.rpc messages: always ErrorInfo, LocalizedMessage (to say aloud) and RequestInfo; BadRequest, RetryInfo and Help where they fit. Under /alpha, a google.protobuf.Struct may name what the caller can have instead. */
            details: components["schemas"]["StatusDetail"][];
            /**
             * @description What is wrong and what to do.
             * @example The request is not valid: start_time is required.
             */
            message: string;
        };
        StatusDetail: {
            /**
             * @description The type of the message.
             * @example type.googleapis.com/google.rpc.ErrorInfo
             */
            "@type": string;
        } & {
            [key: string]: unknown;
        };
        Ticket: {
            /**
             * @description Id of the related account.
             * @example
             */
            account_id: string;
            /**
             * Format: date-time
             * @description When the ticket was closed.
             * @example 2026-12-03T09:00:00Z
             */
            closed_at?: string;
            /**
             * @description Id of the related contact.
             * @example
             */
            contact_id: string;
            /**
             * Format: date-time
             * @description When the ticket was opened.
             * @example 2026-12-01T15:00:00Z
             */
            created_at?: string;
            /**
             * @description Plain text.
             * @example The handle of the front door came off.
             */
            description: string;
            /**
             * @description Unique id of the ticket in the CRM.
             * @example tkt_8f3k2m
             */
            id: string;
            /**
             * @description The most recent public comment, plain text, 280 characters at most.
             * @example A locksmith comes tomorrow.
             */
            last_comment: string;
            /**
             * @description Id of the user to whom the ticket is assigned.
             * @example
             */
            owner_id: string;
            /**
             * @description The CRM's own label.
             * @example High
             */
            priority: string;
            /**
             * Format: date-time
             * @description When the ticket was marked resolved.
             * @example 2026-12-02T17:00:00Z
             */
            resolved_at?: string;
            /**
             * @description The CRM's own label.
             * @example New
             */
            status: string;
            /**
             * @description Short title.
             * @example Broken door handle
             */
            subject: string;
            /**
             * @description The number people use.
             * @example 00001042
             */
            ticket_number: string;
            /**
             * Format: date-time
             * @description When the ticket was last changed.
             * @example 2026-12-03T09:00:00Z
             */
            updated_at?: string;
        };
        TicketAnswer: {
            /** @description The ticket as it is now. */
            ticket: components["schemas"]["Ticket"];
        };
        UpdateMeetingRequest: {
            /**
             * @description The complete new list of attendees, at most 200. Those who stay keep their answers. Each has at most 320 bytes.
             * @example [
             *       "pat@example.com",
             *       "kim@example.com"
             *     ]
             */
            attendee_emails?: string[];
            /**
             * @description New agenda or body text. At most 8,192 bytes.
             * @example Second visit
             */
            description?: string;
            /**
             * @description New end. At most 64 bytes.
             * @example 2026-12-01T11:30:00-05:00
             */
            end_time?: string;
            /**
             * @description The event to change. At most 1,024 bytes. Required.
             * @example evt_4k1v9s
             */
            event_id?: string;
            /**
             * @description Calendars to search for the event, at most 50, if the gateway has not seen it yet. Each has at most 1,024 bytes.
             * @example [
             *       "primary"
             *     ]
             */
            selected_calendar_ids?: string[];
            /**
             * @description New start, in the form of book-meeting. Without end_time, the duration stays. At most 64 bytes.
             * @example 2026-12-01T11:00:00-05:00
             */
            start_time?: string;
            /**
             * @description IANA time zone name. At most 64 bytes.
             * @example America/New_York
             */
            timezone?: string;
            /**
             * @description New title. At most 1,024 bytes.
             * @example Consultation, moved
             */
            title?: string;
        };
        UpdatePhoneNumberRequest: {
            /**
             * Format: int64
             * @description Cloud employee to handle inbound calls; null unassigns.
             * @example 7
             */
            inbound_cloud_employee_id?: number | null;
            /**
             * @description New display name, 1 to 64 characters after trimming.
             * @example Night line
             */
            name?: string;
            /**
             * Format: int64
             * @description Cloud employee to handle outbound calls; null unassigns.
             * @example 7
             */
            outbound_cloud_employee_id?: number | null;
        };
        VerifyAnswer: {
            /**
             * @description Address of the connected account. If ok is false, the last known one. Empty if nothing is connected.
             * @example office@example.com
             */
            email: string;
            /** @description Whether the provider accepts the credentials now. */
            ok: boolean;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Attendee = components['schemas']['Attendee'];
export type BookMeetingRequest = components['schemas']['BookMeetingRequest'];
export type BookSlotRequest = components['schemas']['BookSlotRequest'];
export type BookedAnswer = components['schemas']['BookedAnswer'];
export type BuyPhoneNumberRequest = components['schemas']['BuyPhoneNumberRequest'];
export type Calendar = components['schemas']['Calendar'];
export type CalendarsAnswer = components['schemas']['CalendarsAnswer'];
export type CallerAccount = components['schemas']['CallerAccount'];
export type CallerAnswer = components['schemas']['CallerAnswer'];
export type CancelAnswer = components['schemas']['CancelAnswer'];
export type CancelByReferenceRequest = components['schemas']['CancelByReferenceRequest'];
export type CancelMeetingRequest = components['schemas']['CancelMeetingRequest'];
export type CancelledAnswer = components['schemas']['CancelledAnswer'];
export type Candidate = components['schemas']['Candidate'];
export type CreateTicketRequest = components['schemas']['CreateTicketRequest'];
export type ErrorDetail = components['schemas']['ErrorDetail'];
export type ErrorModel = components['schemas']['ErrorModel'];
export type EventsAnswer = components['schemas']['EventsAnswer'];
export type FindMeetingsRequest = components['schemas']['FindMeetingsRequest'];
export type FindSlotsRequest = components['schemas']['FindSlotsRequest'];
export type FoundMeeting = components['schemas']['FoundMeeting'];
export type GetTicketRequest = components['schemas']['GetTicketRequest'];
export type HoldAnswer = components['schemas']['HoldAnswer'];
export type HoldSlotRequest = components['schemas']['HoldSlotRequest'];
export type ListEventsRequest = components['schemas']['ListEventsRequest'];
export type ListedEvent = components['schemas']['ListedEvent'];
export type LookUpCallerRequest = components['schemas']['LookUpCallerRequest'];
export type Meeting = components['schemas']['Meeting'];
export type MeetingAnswer = components['schemas']['MeetingAnswer'];
export type MeetingsAnswer = components['schemas']['MeetingsAnswer'];
export type MoveMeetingRequest = components['schemas']['MoveMeetingRequest'];
export type NoFields = components['schemas']['NoFields'];
export type OpenHours = components['schemas']['OpenHours'];
export type OpenTicket = components['schemas']['OpenTicket'];
export type PhoneNumber = components['schemas']['PhoneNumber'];
export type PhoneNumbersAnswer = components['schemas']['PhoneNumbersAnswer'];
export type ReleaseAnswer = components['schemas']['ReleaseAnswer'];
export type ReleaseHoldRequest = components['schemas']['ReleaseHoldRequest'];
export type Slot = components['schemas']['Slot'];
export type SlotBuffer = components['schemas']['SlotBuffer'];
export type SlotsAnswer = components['schemas']['SlotsAnswer'];
export type SpecificTime = components['schemas']['SpecificTime'];
export type Status = components['schemas']['Status'];
export type StatusDetail = components['schemas']['StatusDetail'];
export type Ticket = components['schemas']['Ticket'];
export type TicketAnswer = components['schemas']['TicketAnswer'];
export type UpdateMeetingRequest = components['schemas']['UpdateMeetingRequest'];
export type UpdatePhoneNumberRequest = components['schemas']['UpdatePhoneNumberRequest'];
export type VerifyAnswer = components['schemas']['VerifyAnswer'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
