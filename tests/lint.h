/* lint.h: jansson's loops as cppcheck is to see them: it reads no system headers. */
#define json_array_foreach(array, index, value) for (index = 0; (value = json_array_get(array, index)) != NULL; index++)
#define json_object_foreach(object, key, value) \
	for (key = json_object_iter_key(json_object_iter(object)); (value = json_object_get(object, key)) != NULL; )
