# Reads the snippets, then what the compiler said of them. Prints the slowest lines, and what is not as it has to be.

function bad(text) { print "BAD " text; failed = 1 }

FILENAME !~ /\/log[0-9]+$/ {
  place = FILENAME ":" FNR
  sub(/^\.\//, "", place)
  if (split($0, parts, "// refused: ") == 2) { expected[place] = parts[2]; kind[place] = "error"; refused++ }
  else if (split($0, parts, "// warned: ") == 2) { expected[place] = parts[2]; kind[place] = "warning"; refused++ }
  else if ($0 ~ /^func .*\{  /) valid++
  next
}

FILENAME != log_ { log_ = FILENAME; first = first == "" ? FILENAME : first }

match($0, /^[^ ]+\.swift:[0-9]+:[0-9]+: (error|warning): /) {
  head = substr($0, 1, RLENGTH)
  text = substr($0, RLENGTH + 1)
  sub(/^\.\//, "", head)
  split(head, parts, ":")
  place = parts[1] ":" parts[2]
  is_error = head ~ / error: $/
  if (match(text, /expression took [0-9]+ms/)) {
    time = substr(text, RSTART + 16, RLENGTH - 18) + 0
    if (time > most[log_, place]) most[log_, place] = time
    timed[place] = 1
    next
  }
  if (text ~ /took [0-9]+ms/ || FILENAME != first) next
  if (!(place in expected)) { bad(place ": does not compile: " text); next }
  if (text ~ /failed to produce diagnostic|unable to type-check|'SelectQuery|τ_/) bad(place ": says nothing to a user: " text)
  if (is_error != (kind[place] == "error")) { bad(place ": another kind of diagnostic: " text); next }
  said[place]++
  if (!index(text, expected[place])) bad(place ": not with '" expected[place] "': " text)
  next
}

FILENAME == first && /^(<unknown>:0: )?error: / { bad($0) }

END {
  for (place in expected) if (said[place] != 1) bad(place ": " said[place] + 0 " diagnostics instead of one")
  for (place in timed) {
    least = ""
    for (try = 1; try <= tries; try++) {
      name = first
      sub(/log[0-9]+$/, "log" try, name)
      time = most[name, place] + 0
      if (least == "" || time < least) least = time
    }
    limit = place in expected ? 1500 : 200
    if (least > limit) bad(place ": too slow: " least " ms")
    if (!(place in expected) && least > slowest) { slowest = least; slow = place }
    if (place in expected && least > slowest_refused) { slowest_refused = least; slow_refused = place }
    if (place ~ /^Long/) print place ": " least " ms" (place in expected ? ", refused" : "")
  }
  print refused + 0 " lines are refused, " valid + 0 " compile"
  print "the slowest that compiles is " slow ", " slowest + 0 " ms; the slowest that is refused is " slow_refused ", " slowest_refused + 0 " ms"
  if (refused < 60 || valid < 20) bad("too few lines were looked at")
  exit failed
}
