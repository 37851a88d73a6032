import OtherSQLite
import Sqlable

print(SqliteDatabase.sqliteVersion == otherVersion)
