# shellcheck shell=bash
# Completion of weft, generate and chat. The programs themselves tell what may come next.
_weft() {
  local word=${COMP_WORDS[COMP_CWORD]} line file
  [[ $word == '=' ]] && word=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :folders)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        ;;
      :files*)
        compopt -o filenames
        mapfile -t COMPREPLY < <(
          compgen -d -- "$word"
          compgen -f -X "!*${line#:files }" -- "$word" | while IFS= read -r file; do
            [[ -d $file ]] || printf '%s\n' "$file"
          done
        )
        ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  return 0
}
complete -F _weft weft generate chat
