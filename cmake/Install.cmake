# `cmake --install` and find_package(weft): for people who build on the libraries.
