// dqlite's nodes, as the system has them.
#ifndef SQLABLE_DQLITE_NODE_H
#define SQLABLE_DQLITE_NODE_H

#if !__has_include(<dqlite.h>)
#error "the headers of dqlite are missing: apt-get install libdqlite-dev"
#endif
#include <dqlite.h>

#endif
