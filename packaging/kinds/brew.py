"""Formula for Homebrew, of the buyer's archives. It needs the address at which they are downloaded (--url)."""

from . import archive
from .release import SUMMARY, sha256


def make(release):
    if release.url is None:
        print("skipped: the Homebrew formula, which needs --url")
        return []
    systems = {}
    for binary in release.buyers():
        system, processor = binary.fact("brew")
        name = f"{archive.name(release, binary)}.tar.gz"
        digest = sha256((release.out / name).read_bytes())
        block = f'    {processor} do\n      url "{release.url}/{name}"\n      sha256 "{digest}"\n    end\n'
        systems.setdefault(system, []).append(block)
    blocks = "".join(f"  {system} do\n{''.join(blocks)}  end\n" for system, blocks in sorted(systems.items()))
    formula = f"""class Tradepost < Formula
  desc "{SUMMARY}"
  homepage "{release.url.split('/releases/')[0]}"
  version "{release.version}"
  license "Apache-2.0"

{blocks}
  def install
    bin.install "tradepost"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/tradepost.bash" => "tradepost"
    zsh_completion.install "completions/tradepost.zsh" => "_tradepost"
    fish_completion.install "completions/tradepost.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/tradepost --version")
  end
end
"""
    return [release.write("tradepost.rb", formula.encode())]
