/* The part of Python's stable ABI (3.11 and later) that calls.c uses, and the head of NumPy's array.

   Declared here rather than taken from Python.h, so that one machine compiles for every system without the
   headers of a Python for each. What stands here cannot change under a wheel: the stable ABI is promised for
   all of Python 3 (docs.python.org/3/c-api/stable.html), the fields of an array for all of NumPy 2 (they are what
   the macros PyArray_DATA, PyArray_NDIM, ... read in every compiled extension); library.py reads an array through
   them when it loads this, and compares. */

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define IMPORTED __declspec(dllimport)
#define EXPORTED __declspec(dllexport)
#else
#define IMPORTED
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef ptrdiff_t Py_ssize_t;
typedef struct _object {
    Py_ssize_t ob_refcnt;
    struct _object *ob_type;
} PyObject;
typedef PyObject *(*PyFastFunction)(PyObject *, PyObject *const *, Py_ssize_t);
typedef struct {
    const char *ml_name;
    PyFastFunction ml_meth;
    int ml_flags;
    const char *ml_doc;
} PyMethodDef;
#define METH_FASTCALL 0x0080
typedef struct {
    PyObject ob_base;
    PyObject *(*m_init)(void);
    Py_ssize_t m_index;
    PyObject *m_copy;
    const char *m_name;
    const char *m_doc;
    Py_ssize_t m_size;
    PyMethodDef *m_methods;
    void *m_slots, *m_traverse, *m_clear, *m_free;
} PyModuleDef;

IMPORTED extern PyObject _Py_NoneStruct;
IMPORTED extern PyObject *PyExc_TypeError, *PyExc_ValueError, *PyExc_RuntimeError, *PyExc_MemoryError;
IMPORTED PyObject *PyModule_Create2(PyModuleDef *, int);
IMPORTED PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
IMPORTED PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
IMPORTED void *PyCapsule_GetPointer(PyObject *, const char *);
IMPORTED PyObject *PyErr_Format(PyObject *, const char *, ...);
IMPORTED void PyErr_Clear(void);
IMPORTED PyObject *PyErr_Occurred(void);
IMPORTED PyObject *PyBytes_FromStringAndSize(const char *, Py_ssize_t);
IMPORTED int PyBytes_AsStringAndSize(PyObject *, char **, Py_ssize_t *);
IMPORTED PyObject *PyLong_FromLongLong(long long);
IMPORTED long long PyLong_AsLongLong(PyObject *);
IMPORTED PyObject *PyNumber_Index(PyObject *);
IMPORTED double PyFloat_AsDouble(PyObject *);
IMPORTED int PyObject_IsTrue(PyObject *);
IMPORTED int PyObject_RichCompareBool(PyObject *, PyObject *, int);
IMPORTED int PyType_IsSubtype(PyObject *, PyObject *);
IMPORTED unsigned long PyType_GetFlags(PyObject *);
IMPORTED Py_ssize_t PyTuple_Size(PyObject *);
IMPORTED PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
IMPORTED PyObject *PyTuple_New(Py_ssize_t);
IMPORTED int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
IMPORTED void *PyEval_SaveThread(void);
IMPORTED void PyEval_RestoreThread(void *);
IMPORTED void Py_IncRef(PyObject *);
IMPORTED void Py_DecRef(PyObject *);
IMPORTED void *PyMem_Malloc(size_t);
IMPORTED void PyMem_Free(void *);
#define Py_EQ 2
#define Py_TPFLAGS_LONG_SUBCLASS (1UL << 24)
#define Py_TPFLAGS_TUPLE_SUBCLASS (1UL << 26)
#define PYTHON_ABI_VERSION 3

typedef struct {
    PyObject ob_base;
    char *data;
    int nd;
    Py_ssize_t *dimensions, *strides;
    PyObject *base, *descr;
    int flags;
} Array;
#define ARRAY_C_CONTIGUOUS 0x0001
#define ARRAY_ALIGNED 0x0100
#define ARRAY_WRITEABLE 0x0400
