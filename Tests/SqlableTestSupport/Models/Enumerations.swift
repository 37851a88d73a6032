import SqlableCore

enum Gender: Int, SqlValue {
  case female, male
  case other = -7
}

enum Size: String, SqlValue {
  case small
  case large = "l'arge \"🚲\""
  case empty = ""
}
