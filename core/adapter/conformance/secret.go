package conformance

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
)

// WantNoSecret returns nil if the driver holds none of the secrets. It does not look into HTTP clients, which
// is where secrets belong.
func WantNoSecret(driver any, secrets []string) error {
	w := walk{secrets: secrets, seen: map[any]bool{}}
	return w.value("driver", reflect.ValueOf(driver))
}

type walk struct {
	secrets []string
	seen    map[any]bool
}

func (w walk) value(path string, v reflect.Value) error {
	if !v.IsValid() || v.Type() == reflect.TypeFor[*http.Client]() {
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		for _, secret := range w.secrets {
			if secret != "" && strings.Contains(v.String(), secret) {
				return fmt.Errorf("%s holds a secret", path)
			}
		}
	case reflect.Pointer:
		at := [2]any{v.Pointer(), v.Type()}
		if v.IsNil() || w.seen[at] {
			return nil
		}
		w.seen[at] = true
		return w.value(path, v.Elem())
	case reflect.Interface:
		return w.value(path, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if err := w.value(path+"."+v.Type().Field(i).Name, v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			return w.value(path, reflect.ValueOf(string(v.Bytes())))
		}
		for i := range v.Len() {
			if err := w.value(fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := w.value(path+" key", each.Key()); err != nil {
				return err
			}
			if err := w.value(fmt.Sprintf("%s[%v]", path, each.Key()), each.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}
