# Completion of plant-store for bash. In ~/.bashrc: source <(plant-store completion bash)
_plant_store() {
  local line=${COMP_LINE:0:COMP_POINT} words word prefix candidate file
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  word=${words[${#words[@]} - 1]}
  # Bash takes a word apart at = and :, and only its last part is put in again.
  prefix=${word%"${2#[=:]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate != :files ]]; then
      COMPREPLY+=("${candidate#"$prefix"}")
      [[ $candidate == *[:=] ]] && compopt -o nospace 2> /dev/null
      continue
    fi
    compopt -o filenames 2> /dev/null
    while read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "${word#"$prefix"}")
  done < <("$1" __complete "${words[@]:1}" 2> /dev/null)
}
complete -F _plant_store plant-store
