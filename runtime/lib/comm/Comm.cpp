// What back ends have in common, and the message of an exception without what
// only a developer of LibTorch or Gloo wants to see.
#include "hethub/runtime/Comm.h"
#include "hethub/runtime/Error.h"

#include <c10/util/Exception.h>

using namespace hethub::runtime;

std::unique_ptr<Comm> Comm::group(const std::vector<int> &) {
  fail(name(), " makes no groups of ranks");
}

std::string hethub::runtime::messageOf(const std::exception &error) {
  std::string text = error.what();
  if (auto *torch = dynamic_cast<const c10::Error *>(&error))
    text = torch->what_without_backtrace();
  // Gloo: "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547]
  // Connection closed by peer [127.0.0.1]:1"
  while (text.starts_with("[") && text.find("] ") < text.find('\n'))
    text.erase(0, text.find("] ") + 2);
  // LibTorch: one fact a line, then where it was thrown
  for (const char *tail :
       {". This is typically caused", "\nException raised from",
        "\n\nThis error", "\nThe above operation"})
    if (size_t at = text.find(tail); at != std::string::npos)
      text.resize(at);
  while (!text.empty() &&
         (text.back() == '\n' || text.back() == ' ' || text.back() == '.'))
    text.pop_back();
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return text;
}
