// libweft.so consists of the layers; a target needs a source of its own.
