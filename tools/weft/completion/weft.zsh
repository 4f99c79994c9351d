#compdef weft generate chat
# Completion of weft, generate and chat. The programs themselves tell what may come next.
_weft() {
  local line
  local -a candidates
  while IFS= read -r line; do
    case $line in
      :folders)
        compset -P '-*='
        _files -/
        return
        ;;
      :files*)
        compset -P '-*='
        _files -g "*${line#:files }(-.)"
        return
        ;;
      *) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done < <("${words[1]/#\~/$HOME}" --complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  _describe 'weft' candidates
}
if [ "${funcstack[1]}" = _weft ]; then
  _weft "$@"
else
  compdef _weft weft generate chat
fi
