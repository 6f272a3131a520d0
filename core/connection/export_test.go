package connection

// What tests look at beside the interface.
const Withheld = withheld

var HostOf = hostOf
