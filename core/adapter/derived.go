package adapter

import (
	"context"
	"reflect"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// Derivation declares an adapter whose connections are those of another adapter, with most of the settings
// fixed. Its fields are data: a description of the provider declares them.
type Derivation struct {
	// Declaration describes the adapter. Its Auth and AuthOf are ignored: they are those of the base.
	Declaration
	Fields []Field
	// Values converts values that fit the fields into those of the base.
	Values func(Values) (Values, error)
	// Path converts the path of a fault in the values of the base into one that whoever gave the others knows.
	Path func(path string) string
}

// DerivedCRM returns the CRM adapter that d derives from base.
func DerivedCRM(base Adapter, d Derivation) Adapter {
	of := func(v Values) (Values, error) {
		if faults := d.faults(v); len(faults) > 0 {
			return Values{}, fault.InvalidFields(faults...)
		}
		return d.Values(v)
	}
	a := Adapter{Declaration: d.Declaration, Kind: KindCRM, Fields: d.Fields}
	a.Auth = base.Auth
	a.AuthOf = func(v Values) (Auth, error) {
		converted, err := of(v)
		if err != nil {
			return Auth{}, err
		}
		fit, err := base.With(converted)
		if err != nil {
			return Auth{}, d.told(err)
		}
		if oauth := fit.Auth.OAuth; oauth != nil {
			fit.Auth.OAuth = &OAuth{API: oauth.API, Grant: func(v Values, at Addresses) (Grant, error) {
				converted, err := of(v)
				if err != nil {
					return Grant{}, err
				}
				g, err := oauth.Grant(converted, at)
				return g, d.told(err)
			}}
		}
		return fit.Auth, nil
	}
	a.check = func(v Values) error {
		converted, err := of(v)
		if err != nil {
			return err
		}
		return d.told(base.check(converted))
	}
	a.openCRM = func(ctx context.Context, v Values, env Environment) (crm.Driver, error) {
		converted, err := of(v)
		if err != nil {
			return nil, err
		}
		return base.openCRM(ctx, converted, env)
	}
	return a
}

// told returns an error of the base with the paths that the person who gave the values knows.
func (d Derivation) told(err error) error {
	f := fault.From(err)
	if f == nil || len(f.Fields) == 0 {
		return err
	}
	told := *f
	told.Fields = nil
	for _, field := range f.Fields {
		told.Fields = append(told.Fields, fault.Field{Path: d.Path(field.Path), Message: field.Message})
	}
	return &told
}

// faults returns what is wrong with values, by the fields.
func (d Derivation) faults(v Values) []fault.Field {
	var faults []fault.Field
	secrets := make(map[string]any, len(v.Credentials))
	for name, secret := range v.Credentials {
		secrets[name] = secret
	}
	for _, of := range []struct {
		prefix string
		secret bool
		given  map[string]any
	}{{"settings.", false, v.Settings}, {"credentials.", true, secrets}} {
		var fields []Field
		for _, f := range d.Fields {
			if f.Secret != of.secret {
				continue
			}
			fields = append(fields, f)
			switch value := of.given[f.Name]; {
			case value != nil && value != "":
				faults = append(faults, f.unfit(of.prefix+f.Name, value)...)
			case f.Required:
				faults = append(faults, fault.Field{Path: of.prefix + f.Name, Message: "is required: " + f.Help})
			}
		}
		faults = append(faults, unknown(of.prefix, fields, d.Fields, of.given)...)
	}
	return faults
}

// goTypes are the Go types of the fields that a description can declare, by Field.Type.
func goTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"text": reflect.TypeFor[string](), "url": reflect.TypeFor[string](), "int": reflect.TypeFor[int](),
		"bool": reflect.TypeFor[bool](), "duration": reflect.TypeFor[time.Duration](),
		"list": reflect.TypeFor[[]string](), "map": reflect.TypeFor[map[string]string](),
	}
}

// Describable reports whether a description can declare a field of this type.
func Describable(fieldType string) bool { return goTypes()[fieldType] != nil }

// unfit returns what is wrong with a value of the field. The parts of an object are for the base to judge.
func (f Field) unfit(path string, given any) []fault.Field {
	if f.Type == "object" {
		_, isObject := given.(map[string]any)
		if text, isText := given.(string); isText {
			read, err := fromJSON(text)
			_, isObject = read.(map[string]any)
			isObject = isObject && err == nil
		}
		if !isObject {
			return []fault.Field{{Path: path, Message: "must be " + shapes["object"] + ", or that as JSON."}}
		}
		return nil
	}
	return store(reflect.New(goTypes()[f.Type]).Elem(), path, f, given)
}
