package tenant

// Verification is what a provider said when it was asked live about a connection.
type Verification struct {
	OK      bool
	Email   string   // the account's address, as far as the provider tells one
	Name    string   // the account's name, as far as the provider tells one
	Problem string   // what is wrong; "" when OK
	Advice  string   // what a person can do about it; "" when OK
	Details []string // what was found, e.g. the calendars
}
