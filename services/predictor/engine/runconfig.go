package engine

// #cgo LDFLAGS: -ldl
// #include <dlfcn.h>
// #include <stdint.h>
// #include <stdio.h>
// #include <stdlib.h>
//
// // The runtime's interface is a table of functions that only ever grows at its
// // end, so a place in it is as good as a name.
// enum { GET_ERROR_MESSAGE = 2, RELEASE_STATUS = 93, ADD_RUN_CONFIG_ENTRY = 165, SINCE_VERSION = 10 };
//
// typedef struct { void **(*get_api)(uint32_t version); } api_base;
//
// static void **find_api(const char *path) {
//   void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
//   if (library == NULL) return NULL;
//   api_base *(*get_base)(void) = (api_base *(*)(void))dlsym(library, "OrtGetApiBase");
//   void **api = get_base == NULL ? NULL : get_base()->get_api(SINCE_VERSION);
//   dlclose(library); // whoever loaded it keeps it
//   return api;
// }
//
// // add_entry writes what went wrong into message, or nothing.
// static void add_entry(void **api, void *options, const char *key, const char *value, char *message, size_t size) {
//   void *status = ((void *(*)(void *, const char *, const char *))api[ADD_RUN_CONFIG_ENTRY])(options, key, value);
//   if (status == NULL) return;
//   snprintf(message, size, "%s", ((const char *(*)(void *))api[GET_ERROR_MESSAGE])(status));
//   ((void (*)(void *))api[RELEASE_STATUS])(status);
// }
import "C"

import (
	"errors"
	"reflect"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"
)

// api is the table of functions of the loaded library. The binding has no call
// for the entries of a run's configuration.
type api struct{ table *unsafe.Pointer }

func findAPI(path string) (api, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	table := C.find_api(name)
	if table == nil {
		return api{}, errors.New("the runtime's interface is not found")
	}
	return api{table: table}, nil
}

// addRunConfig adds an entry to the configuration of runs with these options.
func (a api) addRunConfig(options *ort.RunOptions, key, value string) error {
	held := reflect.ValueOf(options).Elem().FieldByName("o")
	if held.Kind() != reflect.Pointer {
		return errors.New("the binding's run options hold no pointer")
	}
	k, v := C.CString(key), C.CString(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	message := (*C.char)(C.calloc(1, 256))
	defer C.free(unsafe.Pointer(message))
	C.add_entry(a.table, held.UnsafePointer(), k, v, message, 256)
	if text := C.GoString(message); text != "" {
		return errors.New(text)
	}
	return nil
}
