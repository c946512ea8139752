/* Calls compiled loops from Python: reads arguments straight into a row of machine words, and lets go of the lock.

   Every loop `(first, last, n, arguments)` has a plan, bytes that say what each argument must be:

     T k        a tuple of k arguments, which follow
     A d t w    an array of d dimensions, the t-th dtype; written to if w & 1, with the batch's rows if w & 2, with
                those or none if w & 4, along axis w >> 3; after which come two bytes for each dimension: how long it has to be where the
                array has items, and how long always
     d, i, b    a float, an int, a bool

   An array becomes what Numba's calling convention has: two null pointers, the number of items, their size, the
   data, the shape and the strides. An argument that does not fit is a TypeError, one that is too short a ValueError;
   nothing was written then. The arguments come as the tuple that a Python function has them in: taking it apart and
   putting it together again took longer than reading them.

   A loop without code, number -1, runs nothing: it returns its row from n on, the parameters of a GPU's kernel. */

#include "python_abi.h"
#include <string.h>

#define MOST_WORDS 2048
#define MOST_ALIASES 4

typedef int (*Loop)(const int64_t *);
extern const Loop posable_loops[][2];      /* [loop][0: any machine of this kind, 1: with AVX2 and FMA] */
extern const int posable_loop_count;
extern const int posable_variants;
extern const char posable_table[];
extern const long long posable_table_size;

typedef struct {
    PyObject *dtype;                       /* what the loop was compiled for */
    int64_t size;                          /* [bytes] of an item */
    PyObject *aliases[MOST_ALIASES];       /* other objects that are equal to it: comparing them takes microseconds */
} Dtype;

typedef struct {
    Loop run;
    PyObject *ndarray, *boolean;           /* NumPy's types */
    Py_ssize_t plan_size, dtypes_size;
    unsigned char *plan;
    Dtype *dtypes;
} Entry;

typedef struct {
    const Entry *entry;
    Py_ssize_t at;                         /* in the plan */
    int words;
    int64_t n;
    int64_t *row;
    int number;                            /* of the argument being read, from 1 */
} Reading;

static int variant = 0;

static int refuse(const Reading *to, const char *what)
{
    PyErr_Format(PyExc_TypeError, "argument %d %s", to->number, what);
    return -1;
}

static int same_dtype(Dtype *known, PyObject *dtype)
{
    if (dtype == known->dtype) return 1;
    for (int k = 0; k < MOST_ALIASES; k++)
        if (known->aliases[k] == dtype) return 1;
    int equal = PyObject_RichCompareBool(dtype, known->dtype, Py_EQ);
    if (equal < 0) {
        PyErr_Clear();
        return 0;
    }
    for (int k = 0; equal && k < MOST_ALIASES; k++)
        if (known->aliases[k] == NULL) {
            Py_IncRef(dtype);
            known->aliases[k] = dtype;
            break;
        }
    return equal;
}

static int read_array(Reading *to, PyObject *given)
{
    const Entry *entry = to->entry;
    const unsigned char *plan = entry->plan + to->at;
    int dimensions = plan[0], written = plan[2] & 1, has_rows = plan[2] & 2, may_have_rows = plan[2] & 4;
    to->at += 3 + 2 * dimensions;
    if (given->ob_type != entry->ndarray && !PyType_IsSubtype(given->ob_type, entry->ndarray))
        return refuse(to, "is no array");
    const Array *array = (const Array *)given;
    if (array->nd != dimensions) {
        PyErr_Format(PyExc_TypeError, "argument %d has %d dimensions; expected %d", to->number, array->nd, dimensions);
        return -1;
    }
    if (!same_dtype(&entry->dtypes[plan[1]], array->descr)) {
        PyErr_Format(PyExc_TypeError, "argument %d has dtype %S; expected %S", to->number, array->descr,
                     entry->dtypes[plan[1]].dtype);
        return -1;
    }
    if (!(array->flags & ARRAY_C_CONTIGUOUS) || !(array->flags & ARRAY_ALIGNED))
        return refuse(to, "is no array in C order: give numpy.ascontiguousarray of it");
    if (written && !(array->flags & ARRAY_WRITEABLE)) return refuse(to, "is written to, and is read-only");
    int along = plan[2] >> 3;
    int64_t rows = along < dimensions ? array->dimensions[along] : 0;
    if (rows < to->n && (has_rows || (may_have_rows && rows > 0))) {
        PyErr_Format(PyExc_ValueError, "argument %d has %zd rows%s; expected %lld", to->number, (Py_ssize_t)rows,
                     (const char *[]){"", " along axis 1", " along a later axis"}[along < 2 ? along : 2],
                     (long long)to->n);
        return -1;
    }
    int64_t items = 1;
    for (int k = 0; k < dimensions; k++) items *= array->dimensions[k];
    for (int k = 0; to->n > 0 && k < dimensions; k++) {
        int needed = items > 0 && plan[3 + 2 * k] > plan[4 + 2 * k] ? plan[3 + 2 * k] : plan[4 + 2 * k];
        if (array->dimensions[k] < needed) {
            PyErr_Format(PyExc_ValueError, "argument %d has length %zd along axis %d; expected %d", to->number,
                         (Py_ssize_t)array->dimensions[k], k, needed);
            return -1;
        }
    }
    if (to->words + 5 + 2 * dimensions > MOST_WORDS) return refuse(to, "is one too many");
    int64_t *row = to->row + to->words;
    for (int k = 0; k < dimensions; k++) {
        row[5 + k] = array->dimensions[k];
        row[5 + dimensions + k] = array->strides[k];
    }
    row[0] = row[1] = 0;
    row[2] = items;
    row[3] = entry->dtypes[plan[1]].size;
    row[4] = (int64_t)(intptr_t)array->data;
    to->words += 5 + 2 * dimensions;
    return 0;
}

static int read_argument(Reading *to, PyObject *given)
{
    if (to->at >= to->entry->plan_size) return refuse(to, "is one too many");
    int kind = to->entry->plan[to->at++];
    if (kind == 'A') return read_array(to, given);
    if (kind == 'T') {
        int count = to->entry->plan[to->at++];
        if (!(PyType_GetFlags(given->ob_type) & Py_TPFLAGS_TUPLE_SUBCLASS)) return refuse(to, "is no tuple");
        if (PyTuple_Size(given) != count) {
            PyErr_Format(PyExc_TypeError, "argument %d is a tuple of %zd; expected %d", to->number, PyTuple_Size(given),
                         count);
            return -1;
        }
        for (int k = 0; k < count; k++)
            if (read_argument(to, PyTuple_GetItem(given, k)) < 0) return -1;
        return 0;
    }
    if (to->words + 1 > MOST_WORDS) return refuse(to, "is one too many");
    int64_t *word = to->row + to->words++;
    if (kind == 'd') {
        double value = PyFloat_AsDouble(given);
        if (value == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return refuse(to, "is no number");
        }
        memcpy(word, &value, sizeof value);
        return 0;
    }
    if (kind == 'b') {
        int is_bool = given->ob_type == to->entry->boolean;
        if (!is_bool && !(PyType_GetFlags(given->ob_type) & Py_TPFLAGS_LONG_SUBCLASS)) return refuse(to, "is no bool");
        int truth = PyObject_IsTrue(given);
        if (truth < 0) return -1;
        *word = truth;
        return 0;
    }
    PyObject *whole = PyNumber_Index(given);
    if (whole == NULL) {
        PyErr_Clear();
        return refuse(to, "is no whole number");
    }
    long long value = PyLong_AsLongLong(whole);
    Py_DecRef(whole);
    if (value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return refuse(to, "is a number beyond 64 bits");
    }
    *word = value;
    return 0;
}

static PyObject *run_loop(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    const Entry *entry = (const Entry *)PyCapsule_GetPointer(self, "posable.loop");
    if (entry == NULL) return NULL;
    int64_t row[MOST_WORDS];
    Reading to = {entry, 0, 3, 0, row, 0};
    if (count != 4 || !(PyType_GetFlags(given[3]->ob_type) & Py_TPFLAGS_TUPLE_SUBCLASS))
        return PyErr_Format(PyExc_TypeError, "a loop is called with (first, last, n, arguments)");
    for (int k = 0; k < 3; k++) {
        row[k] = PyLong_AsLongLong(given[k]);
        if (row[k] == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return PyErr_Format(PyExc_ValueError, "%S rows; expected a whole number of 64 bits", given[k]);
        }
    }
    to.n = row[2];
    if (row[0] < 0 || row[0] > row[1] || row[1] > row[2])
        return PyErr_Format(PyExc_ValueError, "rows %lld to %lld of %lld", (long long)row[0], (long long)row[1],
                            (long long)row[2]);
    Py_ssize_t arguments = PyTuple_Size(given[3]);
    for (Py_ssize_t k = 0; k < arguments; k++) {
        to.number = (int)k + 1;
        if (read_argument(&to, PyTuple_GetItem(given[3], k)) < 0) return NULL;
    }
    if (to.at != entry->plan_size) return PyErr_Format(PyExc_TypeError, "%zd arguments are too few", arguments);
    if (entry->run == NULL)
        return PyBytes_FromStringAndSize((const char *)(row + 2), (Py_ssize_t)(to.words - 2) * (Py_ssize_t)sizeof *row);
    int failed = 0;
    if (row[1] > row[0]) {
        void *state = PyEval_SaveThread();
        failed = entry->run(row);
        PyEval_RestoreThread(state);
    }
    if (failed) return PyErr_Format(PyExc_RuntimeError, "a kernel gave up with code %d: an index beyond its array, where indices are checked", failed);
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static PyMethodDef loop_method = {"loop", run_loop, METH_FASTCALL, "Run rows first to last - 1 of n."};

static void free_entry(PyObject *capsule)
{
    Entry *entry = (Entry *)PyCapsule_GetPointer(capsule, "posable.loop");
    if (entry == NULL) return;
    for (Py_ssize_t k = 0; k < entry->dtypes_size; k++) {
        Py_DecRef(entry->dtypes[k].dtype);
        for (int a = 0; a < MOST_ALIASES; a++)
            if (entry->dtypes[k].aliases[a] != NULL) Py_DecRef(entry->dtypes[k].aliases[a]);
    }
    Py_DecRef(entry->ndarray);
    Py_DecRef(entry->boolean);
    PyMem_Free(entry->plan);
    PyMem_Free(entry->dtypes);
    PyMem_Free(entry);
}

/* loop(number, plan, dtypes, sizes, ndarray, bool_): the callable of one loop, or of none that only reads. */
static PyObject *make_loop(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    char *plan;
    Py_ssize_t size;
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    long long number = PyLong_AsLongLong(given[0]);
    if (number == -1 && PyErr_Occurred()) return NULL;
    if (number < -1 || number >= posable_loop_count) return PyErr_Format(PyExc_ValueError, "no loop %lld", number);
    if (PyBytes_AsStringAndSize(given[1], &plan, &size) < 0) return NULL;
    Py_ssize_t dtypes = PyTuple_Size(given[2]);
    if (dtypes < 0 || PyTuple_Size(given[3]) != dtypes)
        return PyErr_Format(PyExc_TypeError, "expected as many sizes as dtypes");
    for (Py_ssize_t k = 0; k < size; k++) {     /* a plan that is cut off, or names no dtype, would be read beyond */
        int kind = plan[k];
        Py_ssize_t more = kind == 'A' && k + 1 < size ? 3 + 2 * (unsigned char)plan[k + 1] : kind == 'T' ? 1 : 0;
        if (k + more >= size || (kind == 'A' && more == 0) || (kind == 'A' && (unsigned char)plan[k + 2] >= dtypes) || !strchr("ATdib", kind))
            return PyErr_Format(PyExc_ValueError, "no plan: byte %zd of %zd", k, size);
        k += more;
    }
    Entry *entry = PyMem_Malloc(sizeof *entry);
    unsigned char *copy = PyMem_Malloc((size_t)size + 1);
    Dtype *known = PyMem_Malloc((size_t)(dtypes + 1) * sizeof *known);
    if (entry == NULL || copy == NULL || known == NULL) {
        PyMem_Free(entry), PyMem_Free(copy), PyMem_Free(known);
        return PyErr_Format(PyExc_MemoryError, "no memory for a loop");
    }
    memcpy(copy, plan, (size_t)size);
    memset(known, 0, (size_t)(dtypes + 1) * sizeof *known);
    *entry = (Entry){number < 0 ? NULL : posable_loops[number][variant], given[4], given[5], size, dtypes, copy, known};
    for (Py_ssize_t k = 0; k < dtypes; k++) {
        known[k].dtype = PyTuple_GetItem(given[2], k);
        known[k].size = PyLong_AsLongLong(PyTuple_GetItem(given[3], k));
        Py_IncRef(known[k].dtype);
    }
    Py_IncRef(given[4]);
    Py_IncRef(given[5]);
    PyObject *capsule = PyCapsule_New(entry, "posable.loop", free_entry);
    if (capsule == NULL) return NULL;
    PyObject *made = PyCFunction_NewEx(&loop_method, capsule, NULL);
    Py_DecRef(capsule);
    return made;
}

/* table(): what the build wrote about its loops, JSON. */
static PyObject *get_table(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self, (void)given, (void)count;
    return PyBytes_FromStringAndSize(posable_table, (Py_ssize_t)posable_table_size);
}

/* fields(array): (data, dimensions, first length, first stride, flags), as this library reads them. */
static PyObject *get_fields(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (count != 1) return PyErr_Format(PyExc_TypeError, "expected an array");
    const Array *array = (const Array *)given[0];
    long long values[5] = {(long long)(intptr_t)array->data, array->nd, array->dimensions[0], array->strides[0],
                           array->flags};
    PyObject *made = PyTuple_New(6);
    for (int k = 0; made != NULL && k < 5; k++) PyTuple_SetItem(made, k, PyLong_FromLongLong(values[k]));
    if (made != NULL) {
        Py_IncRef(array->descr);
        PyTuple_SetItem(made, 5, array->descr);
    }
    return made;
}

/* take_variant(number): which code loops are made with from now on; returns how many there are. */
static PyObject *take_variant(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    long long wanted = count == 1 ? PyLong_AsLongLong(given[0]) : -1;
    if (wanted < 0 || wanted >= posable_variants) return PyErr_Format(PyExc_ValueError, "no variant %lld", wanted);
    variant = (int)wanted;
    return PyLong_FromLongLong(posable_variants);
}

/* best_variant(): 1 where this machine has what the second one was compiled for, else 0. */
static PyObject *best_variant(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self, (void)given, (void)count;
    int best = 0;
#if defined(__x86_64__) || defined(_M_X64)
    unsigned a = 1, b = 0, c = 0, d = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    int fma = c >> 12 & 1, saves = c >> 27 & 1, avx = c >> 28 & 1, moves = c >> 22 & 1, f16 = c >> 29 & 1;
    a = 0;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    unsigned highest = a;
    if (fma && saves && avx && moves && f16 && highest >= 7) {
        a = 7, c = 0;
        __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
        int avx2 = b >> 5 & 1, bits = (b >> 3 & 1) && (b >> 8 & 1);
        a = 0x80000001u, c = 0;
        __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
        int counts = c >> 5 & 1;
        unsigned low, high;                     /* the system saves the wide registers */
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        best = avx2 && bits && counts && (low & 6) == 6;
    }
#endif
    return PyLong_FromLongLong(best < posable_variants ? best : posable_variants - 1);
}

static PyMethodDef methods[] = {
    {"loop", make_loop, METH_FASTCALL, "loop(number, plan, dtypes, sizes, ndarray, bool_): the callable of a loop."},
    {"table", get_table, METH_FASTCALL, "table(): what the build wrote about its loops, JSON."},
    {"fields", get_fields, METH_FASTCALL, "fields(array): its head, as this library reads it."},
    {"take_variant", take_variant, METH_FASTCALL, "take_variant(number): which code loops are made with."},
    {"best_variant", best_variant, METH_FASTCALL, "best_variant(): the one for this machine."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {.ob_base = {1, NULL}, .m_name = "_loops", .m_size = -1, .m_methods = methods};

EXPORTED PyObject *PyInit__loops(void)
{
    return PyModule_Create2(&module, PYTHON_ABI_VERSION);
}
