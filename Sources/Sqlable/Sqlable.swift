// What nearly every service uses: one import for the modules below.

@_exported import SqlableBackup
@_exported import SqlableCore
@_exported import SqlableDocuments
@_exported import SqlablePool
@_exported import SqlableQueries
@_exported import SqlableSchema
