# Completion of plant-store for zsh. In ~/.zshrc, after compinit: source <(plant-store completion zsh)
_plant_store() {
  local candidate help files
  local -a found shown open
  while IFS=$'\t' read -r candidate help; do
    case $candidate in
      (:files) files=yes ;;
      (*[:=]) open+=("$candidate") ;;
      (*) found+=("$candidate") shown+=("$candidate${help:+  -- $help}") ;;
    esac
  done < <("${words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2> /dev/null)
  (( $#found )) && compadd -l -d shown -a found
  # The rest of such a word comes without a space.
  (( $#open )) && compadd -S '' -a open
  [[ -n $files ]] || return
  [[ $PREFIX == --*=* ]] && compset -P 1 '*='
  compset -P 'sqlite:'
  _files
}
compdef _plant_store plant-store
