package graph

import (
	"errors"

	"github.com/microsoft/kiota-abstractions-go/serialization"
)

// fields maps an object's fields to the functions that read them, as in Kiota's models.
type fields = map[string]func(serialization.ParseNode) error

func stringInto(to **string) func(serialization.ParseNode) error {
	return func(n serialization.ParseNode) (err error) {
		*to, err = n.GetStringValue()
		return err
	}
}

func boolInto(to **bool) func(serialization.ParseNode) error {
	return func(n serialization.ParseNode) (err error) {
		*to, err = n.GetBoolValue()
		return err
	}
}

func intInto(to **int32) func(serialization.ParseNode) error {
	return func(n serialization.ParseNode) (err error) {
		*to, err = n.GetInt32Value()
		return err
	}
}

func stringsInto(to *[]string) func(serialization.ParseNode) error {
	return func(n serialization.ParseNode) error {
		values, err := n.GetCollectionOfPrimitiveValues("string")
		for _, value := range values {
			if s, ok := value.(*string); ok && s != nil {
				*to = append(*to, *s)
			}
		}
		return err
	}
}

func objectInto[T serialization.Parsable](
	to *T, create serialization.ParsableFactory,
) func(serialization.ParseNode) error {
	return func(n serialization.ParseNode) error {
		value, err := n.GetObjectValue(create)
		if typed, ok := value.(T); ok {
			*to = typed
		}
		return err
	}
}

var errNotAnObject = errors.New("a collection holds something that is no object")

func objectsInto[T serialization.Parsable](
	to *[]T, create serialization.ParsableFactory,
) func(serialization.ParseNode) error {
	return func(n serialization.ParseNode) error {
		values, err := n.GetCollectionOfObjectValues(create)
		if err != nil || values == nil {
			return err
		}
		*to = make([]T, 0, len(values))
		for _, value := range values {
			typed, ok := value.(T)
			if !ok {
				return errNotAnObject // without the event, busy time would look free
			}
			*to = append(*to, typed)
		}
		return nil
	}
}

func writeObject[T any, P interface {
	*T
	serialization.Parsable
}](w serialization.SerializationWriter, key string, value P) error {
	if value == nil { // Kiota would write the pointer: the interface that holds it is not nil
		return nil
	}
	return w.WriteObjectValue(key, value)
}

// writeObjects writes a list unless it is nil; an empty list is written.
func writeObjects[T serialization.Parsable](
	w serialization.SerializationWriter, key string, values []T,
) error {
	if values == nil {
		return nil
	}
	list := make([]serialization.Parsable, 0, len(values))
	for _, value := range values {
		list = append(list, value)
	}
	return w.WriteCollectionOfObjectValues(key, list)
}

func writeStrings(w serialization.SerializationWriter, pairs ...any) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		key, _ := pairs[i].(string)
		value, _ := pairs[i+1].(*string)
		if value == nil {
			continue
		}
		if err := w.WriteStringValue(key, value); err != nil {
			return err
		}
	}
	return nil
}
