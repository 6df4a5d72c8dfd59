// Signals: Ctrl-C cancels the work, never leaves a half-written file.
#pragma once

namespace kith::cli {

// From now on SIGINT, SIGTERM and SIGHUP set a flag; a second one removes the temporary files and ends the process at
// once. Writing to a pipe that nobody reads, or beyond the limit of a file's size, is an error instead of the end.
void catch_signals();

// True if one has come.
bool interrupted();
// 128 + the signal's number, as a shell reports it.
int interrupt_exit_code();
// Throws Error{cancelled} if one has come.
void stop_if_interrupted();

}  // namespace kith::cli
