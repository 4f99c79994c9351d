;; Guix. Not built here: checked by reading it with Guile.
(use-modules (guix base16) (guix packages) (guix download) (guix gexp) (guix build-system cmake) ((guix licenses) #:prefix license:)
             (gnu packages boost) (gnu packages compression) (gnu packages cpp) (gnu packages digest)
             (gnu packages libedit) (gnu packages linux) (gnu packages ninja) (gnu packages pretty-print)
             (gnu packages serialization) (gnu packages tbb) (gnu packages textutils) (gnu packages tls))

(package
  (name "weft")
  (version "@VERSION@")
  (source (origin
            (method url-fetch)
            (uri "@URL@")
            (hash (content-hash (base16-string->bytevector "@SHA256@") sha256))))
  (build-system cmake-build-system)
  (arguments
   (list #:tests? #f
         #:configure-flags
         #~(list "-DWEFT_ISAS=all" "-DWEFT_BUILD_TESTS=OFF" "-DWEFT_BUILD_PYTHON=OFF")))
  (native-inputs (list ninja))
  (inputs (list boost cli11 fmt libedit liburing nlohmann-json openssl onetbb tomlplusplus utf8proc xsimd
                xxhash zlib))
  (home-page "@HOMEPAGE@")
  (synopsis "Runs language models on CPUs and lets you inspect every step")
  (description "Weft builds models as graphs, plans their memory and work ahead, and replays the plan.")
  (license license:asl2.0))
