"""The table on top of the report: each figure with what it means and what it does not tell."""

from collections.abc import Iterator

from weibo_crawler.analysis.asked import Asked
from weibo_crawler.analysis.completeness import Completeness, left_out
from weibo_crawler.analysis.figures import Figures
from weibo_crawler.analysis.ledgers import back
from weibo_crawler.analysis.numbers import duration, grouped, minute, percent, plural
from weibo_crawler.analysis.second_looks import looks_lines
from weibo_crawler.analysis.status import topic_lines, topics_dict
from weibo_crawler.analysis.yields import each_again, yield_lines
from weibo_crawler.records import REFUSALS

KeyFigure = tuple[str, str, str]  # what, the figure, what it means


def key_figures(figures: Figures, depths_are_bounds: str) -> Iterator[KeyFigure]:
    """All rows of the table, texts. depths_are_bounds: why depths are upper bounds, "" if not."""
    yield from _users(figures, depths_are_bounds)
    yield from _ends(figures)
    yield _pages(figures)
    yield from _yields(figures)
    yield (
        "Posts stored",
        grouped(figures.posts.total),
        f"One row a post, of {plural(figures.completeness.visited, 'visited user')}.",
    )
    yield _share(figures.completeness)
    yield from _lacks(figures.completeness)
    yield from _visits(figures.completeness)


def _users(figures: Figures, depths_are_bounds: str) -> Iterator[KeyFigure]:
    counters, walked = figures.counters, figures.states.get("done", 0)
    yield (
        "Users kept",
        grouped(figures.users),
        f"Seeds, and users with enough fans when a list showed them; {grouped(walked)} of them "
        "had their own lists walked to the end.",
    )
    yield (
        "Left out",
        grouped(counters.get("users.filtered", 0)),
        "Sightings of users with too few fans, one user maybe several times; such users are not "
        f"stored. Users seen again: {grouped(counters.get('users.seen_again', 0))}.",
    )
    yield (
        "Greatest depth",
        str(max(figures.depths)) if figures.depths else "none",
        f"An upper bound: {depths_are_bounds}."
        if depths_are_bounds
        else "The shortest chain of kept users from a seed; a seed has depth 0.",
    )
    if figures.topics:
        yield (
            "Topics read",
            grouped(topics_dict(figures.topics).get("done", 0)),
            f"Who wrote what they show stands one step from the seeds. "
            f"{topic_lines(figures.topics)[0].capitalize()}.",
        )
    if figures.unsure_lists:
        yield (
            "Lists of users cut short",
            grouped(figures.unsure_lists),
            "They ended before their announced count: the site hides users, or held them back. "
            "`harvest --retry-failed` asks for them again.",
        )


def _ends(figures: Figures) -> Iterator[KeyFigure]:
    if figures.second_looks:
        known = figures.second_looks.values()
        finds = sum(one.finds for one in known)
        yield (
            "Ends looked at twice",
            grouped(sum(one.looks for one in known)),
            f"Of {grouped(sum(one.ends for one in known))} ends; {grouped(finds)} of these looks "
            f"showed more. {'; '.join(looks_lines(figures.second_looks)) or 'No end got none'}.",
        )


def _pages(figures: Figures) -> KeyFigure:
    asked = sum(figures.pages.values())
    refused = sum(figures.pages.get(verdict, 0) for verdict in REFUSALS)
    share = percent(refused / asked) if asked else "none"
    return (
        "Pages asked for",
        grouped(asked),
        f"Of all runs together; {share} of them were refused (login wall, captcha, throttled, "
        "refused). A refused page tells nothing.",
    )


def _yields(figures: Figures) -> Iterator[KeyFigure]:
    asked = Asked(figures.counters)
    if said := list(yield_lines(asked)):
        yield "Users by edge", grouped(asked["users.kept"]), f"{'; '.join(said)}. Of all runs."
    if a_day := figures.completeness.visits_a_day:
        each, is_measured = each_again(asked)
        how = "measured" if is_measured else "assumed: nobody was visited twice so far"
        yield (
            "Requests a day to follow",
            grouped(a_day * each),
            f"{grouped(a_day)} visits a day, by the users' posting rates; {each:.2f} requests a "
            f"visit ({how}).",
        )


def _share(held: Completeness) -> KeyFigure:
    if held.share is None:
        return ("Share held", "unknown", "No profile has announced a number of posts yet.")
    least, most = percent(held.share), percent(held.share_most)
    return (
        "Share held",
        least if least == most else f"{least} to {most}",
        f"At the last visits: of the {grouped(held.announced)} posts that profiles announced, "
        "which also count what nobody can see any more; and the most, if nothing is missing but "
        "what is known to be. A stored post that was deleted where no visit has looked since "
        "counts as held. Since the visits about "
        f"{plural(round(held.posts_since), 'post')} more are to be expected."
        + (f" {said}." if (said := left_out(held)) else ""),
    )


def _lacks(held: Completeness) -> Iterator[KeyFigure]:
    yield (
        "Surely complete",
        percent(held.sure_share),
        "Of visited users: all that the site shows of them was read, or they are surely gone.",
    )
    yield (
        "Gaps",
        grouped(held.gaps),
        f"Parts between two visits that no visit reached, of {plural(held.gap_users, 'user')}, "
        f"{grouped(held.gap_days)} days in all, with about {grouped(held.gap_posts)} posts by the "
        f"rates at which these users write. The oldest posts of "
        f"{plural(held.oldest_unread, 'user')} were never read.",
    )
    yield (
        "Read back without a gap",
        back(held, held.half_back_days),
        "From the last visit, of half of the users who were visited and are not gone, at least; of "
        f"nine tenths: {back(held, held.tenths_back_days)}. For so long the sample of a user lacks "
        "no post that the site shows.",
    )
    yield (
        "Posts gone",
        grouped(held.gone_posts),
        "Stored posts that the site shows no more: deleted or hidden. They are kept, with the time "
        "when that was seen.",
    )


def _visits(held: Completeness) -> Iterator[KeyFigure]:
    yield (
        "Users visited",
        f"{grouped(held.visited)} of {grouped(held.users)}",
        f"{grouped(held.done - held.limited)} to the end, {grouped(held.limited)} as far as site "
        f"or limit let, {grouped(held.partial)} in part, {grouped(held.gone)} gone "
        f"from the site, {grouped(held.failed)} failed; "
        f"{grouped(held.empty)} of whom the site shows nothing. Of users who were never visited "
        f"({grouped(held.unvisited)}) only the list entry is known.",
    )
    yield (
        "Ends not sure",
        grouped(held.unsure_users),
        "Users whose timeline ended far below what the profile announced: posts may be missing.",
    )
    yield (
        "Texts still cut",
        grouped(held.cut_texts),
        f"Long posts of which only the beginning is held; {grouped(held.long_completed)} were "
        f"fetched whole. Long posts that the site shows whole to others only: "
        f"{grouped(held.restricted_texts)}.",
    )
    yield (
        "Posts not readable",
        grouped(held.unreadable),
        f"Posts of {plural(held.unreadable_users, 'user')} that the site showed and this version "
        "could not read; their JSON is kept (table `drifted`).",
    )
    if held.newest_visit is None:
        yield ("Last visit", "never", "No timeline was read to its end yet.")
        return
    yield (
        "Last visit",
        minute(held.newest_visit)[:10],
        f"Visits from {minute(held.oldest_visit)} to {minute(held.newest_visit)}; half of them are "
        f"up to {duration(held.median_age_s or 0)} old, nine tenths up to "
        f"{duration(held.tenth_oldest_age_s or 0)}. {plural(held.due, 'user')} due for the next "
        "one.",
    )
