package connection

// Exported for tests.
const Withheld = withheld

var HostOf = hostOf
