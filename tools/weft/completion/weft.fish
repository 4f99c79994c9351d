# Completion of weft, generate and chat. The programs themselves tell what may come next.
function __weft_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~' "$HOME" -- $words[1])
    set -e words[1]
    for line in ($program --complete $words "$word" 2>/dev/null)
        switch $line
            case ':folders'
                __fish_complete_directories "$word" ''
            case ':files *'
                __fish_complete_suffix (string replace ':files ' '' -- $line)
            case '*'
                echo $line
        end
    end
end
for program in weft generate chat
    complete -c $program -f -a '(__weft_complete)'
end
