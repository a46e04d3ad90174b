# Completion of plant-store for fish. In ~/.config/fish/config.fish: plant-store completion fish | source
function __plant_store_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..] "$current" 2>/dev/null)
        if test "$line" != ':files'
            echo $line
            continue
        end
        set -l prefix (string match -r '^(?:--[^=]*=)?(?:sqlite:)?' -- "$current")
        for path in (__fish_complete_path (string sub -s (math (string length -- "$prefix") + 1) -- "$current"))
            echo $prefix$path
        end
    end
end
complete -c plant-store -f -a '(__plant_store_complete)'
