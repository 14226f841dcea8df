// Journeys over the real server, whose address is in TRACEWRIGHT_VIEW_URL.
export const tests = {};
