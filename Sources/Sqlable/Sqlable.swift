// A single import for the modules that nearly every service uses.

@_exported import SqlableCodable
@_exported import SqlableCore
@_exported import SqlableDocuments
@_exported import SqlablePool
@_exported import SqlableQueries
@_exported import SqlableSchema
@_exported import SqlableTracing
